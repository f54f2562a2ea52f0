"""Linear algebra under PyTorch's names: solving, factorising and measuring matrices, of which there may be a batch.

Matrices are the last two dims of a float32 or float64 tensor. LAPACK factorises them on the host (Debian's liblapack3, or
libopenblas0 where it is installed), with one transfer each way for a tensor of a GPU; such a function computes at once and
is refused inside compiled functions. All but matrix_rank() have gradients, of every order.

>>> import tenon
>>> A = tenon.tensor([[2., 0.], [0., 4.]])
>>> tenon.linalg.solve(A, tenon.tensor([2., 2.]))
tensor([1.0000, 0.5000])
"""

import collections

from . import _tenon
from . import checks as _checks
from ._tenon._linalg import LinAlgError  # noqa: F401

_linalg = _tenon._linalg


def _named(name, *fields):
    """A tuple of tensors with names, as the functions of the same name return it."""
    return collections.namedtuple(f"linalg_{name}", fields, module=__name__)


_slogdet = _named("slogdet", "sign", "logabsdet")
_qr = _named("qr", "Q", "R")
_svd = _named("svd", "U", "S", "Vh")
_eigh = _named("eigh", "eigenvalues", "eigenvectors")
_lstsq = _named("lstsq", "solution", "residuals", "rank", "singular_values")


# ---- solving ----

def inv(A):
    """The inverse of every matrix; LinAlgError names a singular one."""
    return _linalg.inv(A)


def solve(A, B, *, left=True):
    """X with A @ X = B, or X @ A = B with left=False. B is a vector for each matrix where its shape is A's without the last dim."""
    return _linalg.solve(A, B, left)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """As solve(), for a triangular A, of which one triangle is read; unitriangular: its diagonal counts as 1."""
    return _linalg.solve_triangular(A, B, upper, left, unitriangular)


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) for the smallest X with the least |A @ X - B|; always LAPACK's gelsd."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"there is no driver {_checks.shown(driver)}; there are 'gels', 'gelsy', 'gelsd' and 'gelss'")
    return _lstsq(*_linalg.lstsq(A, B, rcond))


def pinv(A, *, atol=None, rtol=None, hermitian=False):
    """The Moore-Penrose inverse. Singular values below max(atol, rtol * the largest) count as 0."""
    return _linalg.pinv(A, atol, rtol, hermitian)


# ---- factorisations ----

def cholesky(A, *, upper=False):
    """L with A = L @ L.mT of symmetric positive-definite matrices, whose lower triangle is read; with upper=True L.mT."""
    return _linalg.cholesky(A, upper)


def qr(A, mode="reduced"):
    """(Q, R) with A = Q @ R. mode: 'reduced', 'complete', or 'r' for R alone."""
    return _qr(*_linalg.qr(A, mode))


def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U @ diag(S) @ Vh, S descending. Gradients go through the first min(m, n) vectors."""
    return _svd(*_linalg.svd(A, full_matrices))


def svdvals(A, *, driver=None):
    """The singular values, descending."""
    return _linalg.svdvals(A)


def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of symmetric matrices, ascending. UPLO: which triangle is read, 'L' or 'U'."""
    return _eigh(*_linalg.eigh(A, UPLO))


def eigvalsh(A, UPLO="L"):
    """The eigenvalues of symmetric matrices, ascending."""
    return _linalg.eigvalsh(A, UPLO)


# ---- numbers of a matrix ----

def det(A):
    """The determinant of every matrix."""
    return _linalg.det(A)


def slogdet(A):
    """(sign, logabsdet) of the determinant of every matrix."""
    return _slogdet(*_linalg.slogdet(A))


def _brought(x, dtype):
    return x if dtype is None else x.to(dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The p-norm along dims, or of all elements."""
    return _tenon.norm(_brought(x, dtype), ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of every matrix. ord: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    return _linalg.matrix_norm(_brought(A, dtype), ord, dim, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The 2-norm of all elements, or along dims; with an ord the norm of a vector, or of matrices where there are two dims."""
    return _linalg.norm(_brought(A, dtype), ord, (dim,) if isinstance(dim, int) else dim, keepdim)


def matrix_rank(A, *, atol=None, rtol=None, hermitian=False, tol=None):
    """How many singular values are above max(atol, rtol * the largest)."""
    return _linalg.matrix_rank(A, *((tol, 0.0) if tol is not None else (atol, rtol)), hermitian)


def cond(A, p=None):
    """The norm of a matrix times that of its inverse, infinite for a singular one. p: an ord of matrix_norm(), 2 unless given."""
    return _linalg.cond(A, 2 if p is None else p)


# ---- powers and products ----

def matrix_power(A, n):
    """A multiplied n times; the inverse for a negative n."""
    return _linalg.matrix_power(A, n)


def matrix_exp(A):
    """1 + A + A @ A / 2 + ... of every matrix."""
    return _linalg.matrix_exp(A)


def multi_dot(tensors):
    """The product of several matrices in the cheapest order; the first and the last may be vectors."""
    return _linalg.multi_dot(_checks.several_tensors("multi_dot", tensors))


_checks.all_need_tensors(globals())
