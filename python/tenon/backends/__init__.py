"""Switches of PyTorch's that programs set before they begin.

Those of determinism and of benchmarks are taken and not needed: every kernel is deterministic, and Tenon chooses among
its own by what is measured. allow_tf32 lets products of float32 take their operands as tf32 on GPUs that have it.

>>> import tenon
>>> tenon.backends.cudnn.benchmark = True
>>> tenon.backends.cuda.matmul.allow_tf32 = True
"""

from . import cuda as cuda, cudnn as cudnn, mps as mps
