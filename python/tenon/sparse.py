"""PyTorch's products with a sparse matrix, of dense ones. Tensors are dense here: what makes sparse ones is refused by name.

>>> import tenon
>>> tenon.sparse.mm(tenon.eye(2), tenon.tensor([[1., 2.], [3., 4.]]))
tensor([[1., 2.],
        [3., 4.]])
"""

from . import _tenon


def _require_dense(name, *tensors):
    for one in tensors:
        if not isinstance(one, _tenon.Tensor):
            raise TypeError(f"{name}() takes tensors of Tenon's, which are dense, not {type(one).__module__}.{type(one).__name__}; "
                            "of a sparse one take to_dense() first")


def mm(mat1, mat2, reduce=None):
    """The product of two matrices, both dense, as tenon.mm() gives it."""
    _require_dense("sparse.mm", mat1, mat2)
    if reduce not in (None, "sum"):
        raise _tenon.Error(f"[sparse.mm] reduce={reduce!r} leaves out what is not stored, which only sparse tensors say")
    return _tenon.mm(mat1, mat2)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """beta * mat + alpha * (mat1 @ mat2), all dense."""
    _require_dense("sparse.addmm", mat, mat1, mat2)
    return _tenon.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def spmm(mat1, mat2):
    """PyTorch's other name of sparse.mm()."""
    return mm(mat1, mat2)


def _refused(name, instead):
    def refuse(*_args, **_kwargs):
        raise _tenon.Error(f"[{name}] tensors are dense here; {instead}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: tensors are dense here."
    return refuse


_FROM_PLACES = "make zeros(size) and put values there: x.index_put_(tuple(indices), values, accumulate=True)"
sparse_coo_tensor = _refused("sparse_coo_tensor", _FROM_PLACES)
sparse_csr_tensor = _refused("sparse_csr_tensor", "make zeros(size) and put values there, row by row")
FloatTensor = _refused("sparse.FloatTensor", _FROM_PLACES)
DoubleTensor = _refused("sparse.DoubleTensor", _FROM_PLACES)
