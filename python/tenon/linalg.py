"""Linear algebra under PyTorch's names: solving, factorising and measuring matrices, of which there may be a batch.

Matrices are the last two dims of a float32 or float64 tensor. LAPACK factorises them on the host (Debian's liblapack3, or
libopenblas0 where it is installed), with one transfer each way for a tensor of a GPU; such a function computes at once and
is refused inside compiled functions. All but matrix_rank() have gradients, of every order.

>>> import tenon
>>> A = tenon.tensor([[2., 0.], [0., 4.]])
>>> tenon.linalg.solve(A, tenon.tensor([2., 2.]))
tensor([1. , 0.5])
"""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._linalg).items() if not name.startswith("_")})
