"""Norms under the names that PyTorch and numpy have for them.

>>> import tenon
>>> tenon.linalg.norm(tenon.tensor([3., 4.]))
tensor(5.)
"""

from . import _tenon
from . import checks as _checks


def vector_norm(x, ord=2, dim=None, keepdim=False):
    """The p-norm along dims, or of all elements."""
    return _tenon.norm(x, ord, dim, keepdim)


def norm(A, ord=None, dim=None, keepdim=False):
    """The 2-norm of all elements, or along dims; with `ord` the p-norm of vectors."""
    is_matrix = A.ndim == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is None or (ord == "fro" and is_matrix):
        return _tenon.norm(A, 2.0, dim, keepdim)
    if isinstance(ord, str) or is_matrix:
        raise ValueError(f"there is no norm {_checks.shown(ord)} of matrices; there are None and 'fro', and vector_norm() of all elements")
    return _tenon.norm(A, ord, dim, keepdim)


_checks.all_need_tensors(globals())
