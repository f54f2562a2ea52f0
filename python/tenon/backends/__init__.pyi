# Written by scripts/make_python_stubs.py; do not edit.

from . import cuda as cuda, cudnn as cudnn, mps as mps
