# Written by scripts/make_python_stubs.py; do not edit.

from ...data import *
