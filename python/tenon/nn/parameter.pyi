# Written by scripts/make_python_stubs.py; do not edit.

from . import Buffer as Buffer, Parameter as Parameter
