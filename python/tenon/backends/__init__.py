"""Switches of PyTorch's that programs set before they begin.

They are taken and not needed: every kernel is deterministic, and Tenon chooses among its own by what is measured.

>>> import tenon
>>> tenon.backends.cudnn.benchmark = True
>>> tenon.backends.cuda.matmul.allow_tf32 = True
"""

from . import cuda, cudnn, mps  # noqa: F401
