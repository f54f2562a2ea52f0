"""Functions that put elements somewhere else, and positions themselves; names and arguments are PyTorch's."""

import itertools

from . import _tenon
from . import checks as _checks

Tensor = _tenon.Tensor


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together."""
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    sizes = []
    for at in itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = {size for size in at if size != 1}
        if len(wide) > 1:
            raise _tenon.Error(f"[broadcast] shapes {' and '.join(map(str, shapes))} do not go together")
        sizes.append(wide.pop() if wide else 1)
    return _tenon.Size(sizes[::-1])


def broadcast_tensors(*tensors):
    """The tensors in the shape that they have together; nothing is copied."""
    tensors = _several("broadcast_tensors", tensors)
    shape = broadcast_shapes(*(one.shape for one in tensors))
    return tuple(one.expand(shape) for one in tensors)


def _several(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    return _checks.several_tensors(function, tensors)


def _triangle(function, row, col, is_inside, dtype, device):
    if row < 0 or col < 0:
        raise ValueError(f"{function}() needs sizes of 0 or more, not {row} and {col}")
    if dtype not in (None, _tenon.int64, _tenon.int32):
        raise TypeError(f"positions are int64 or int32, not {_checks.shown(dtype)}")
    distance = _tenon.arange(col, device=device) - _tenon.arange(row, device=device).reshape(-1, 1)
    return _tenon.nonzero(is_inside(distance)).t().contiguous().to(dtype or _tenon.int64)


def tril_indices(row, col, offset=0, dtype=None, device=None) -> "Tensor":
    """Where the elements on and below a diagonal are: their rows, and their columns."""
    return _triangle("tril_indices", row, col, lambda distance: distance <= offset, dtype, device)


def triu_indices(row, col, offset=0, dtype=None, device=None) -> "Tensor":
    """Where the elements on and above a diagonal are: their rows, and their columns."""
    return _triangle("triu_indices", row, col, lambda distance: distance >= offset, dtype, device)


def block_diag(*tensors) -> "Tensor":
    """A matrix with the matrices along its diagonal; vectors and numbers are rows."""
    tensors = _checks.several_tensors("block_diag", tensors)
    for one in tensors:
        if one.ndim > 2:
            raise ValueError(f"block_diag() needs matrices, not {tuple(one.shape)}")
    blocks = [one if one.ndim == 2 else one.reshape(1, -1) for one in tensors]
    width, before, rows = sum(one.shape[1] for one in blocks), 0, []
    for one in blocks:
        def zeros(columns):
            return _tenon.zeros((one.shape[0], columns), dtype=one.dtype, device=one.device)

        rows.append(_tenon.cat([zeros(before), one, zeros(width - before - one.shape[1])], 1))
        before += one.shape[1]
    return _tenon.cat(rows, 0) if rows else _tenon.zeros((1, 0))


def rot90(input, k=1, dims=(0, 1)) -> "Tensor":
    """Turned by k times 90 degrees, from the first dim towards the second."""
    if len(dims) != 2 or dims[0] % max(input.ndim, 1) == dims[1] % max(input.ndim, 1):
        raise ValueError(f"rot90() needs two dims, not {tuple(dims)}")
    first, second = dims
    if k % 4 == 0:
        return input.clone()
    if k % 4 == 2:
        return input.flip(first, second)
    return input.flip(second if k % 4 == 1 else first).transpose(first, second)


def _at_least(dims, tensors, function, shaped):
    single = len(tensors) == 1 and isinstance(tensors[0], Tensor)
    made = tuple(one if one.ndim >= dims else shaped(one) for one in _several(function, tensors))
    return made[0] if single else made


def atleast_1d(*tensors):
    """The tensors, with a dim where they have none."""
    return _at_least(1, tensors, "atleast_1d", lambda x: x.reshape(1))


def atleast_2d(*tensors):
    """The tensors, with two dims where they have fewer: a vector is a row."""
    return _at_least(2, tensors, "atleast_2d", lambda x: x.reshape(1, -1))


def atleast_3d(*tensors):
    """The tensors, with three dims where they have fewer: (n,) is (1, n, 1), and (m, n) is (m, n, 1)."""
    return _at_least(3, tensors, "atleast_3d", lambda x: x.unsqueeze(-1) if x.ndim == 2 else x.reshape(1, -1, 1))


def argwhere(input) -> "Tensor":
    """The positions of the elements that are not 0, a row each."""
    return _tenon.nonzero(input)


def tensor_split(input, indices_or_sections, dim=0):
    """Parts, as views: so many of nearly one size, or those that end at given positions."""
    if input.ndim == 0:
        raise ValueError("tensor_split() needs a tensor with dims")
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    size = input.shape[dim]
    if isinstance(indices_or_sections, (tuple, list)):
        ends = [range(size + 1).index(max(0, min(size, at + size if at < 0 else at))) for at in map(int, indices_or_sections)]
    else:
        parts = int(indices_or_sections)
        if not 1 <= parts < 2**31:
            raise ValueError(f"tensor_split() needs 1 part or more, and fewer than 2^31, not {parts}")
        ends = list(itertools.accumulate(size // parts + (i < size % parts) for i in range(parts - 1)))
    starts = [0, *ends]
    return tuple(input.narrow(dim, start, max(end - start, 0)) for start, end in zip(starts, [*ends, size]))


def _split_along(function, input, indices_or_sections, dim, dims):
    if input.ndim < dims:
        raise ValueError(f"{function}() needs a tensor of {dims} dims or more, not {tuple(input.shape)}")
    if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or input.shape[dim] % indices_or_sections):
        raise ValueError(f"{function}() cannot divide a dim of {input.shape[dim]} into {indices_or_sections} parts of one size")
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input, indices_or_sections):
    """Parts side by side: along dim 1, or along dim 0 of a vector."""
    return _split_along("hsplit", input, indices_or_sections, 1 if input.ndim > 1 else 0, 1)


def vsplit(input, indices_or_sections):
    """Parts along dim 0."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input, indices_or_sections):
    """Parts along dim 2."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or the slices along a dim, less those that equal the one before; where each went, and how many it stands for."""
    x = input.reshape(-1) if dim is None else input
    along = 0 if dim is None else dim
    count = x.shape[along]
    differs = x.narrow(along, 1, max(count - 1, 0)) != x.narrow(along, 0, max(count - 1, 0)) if count else None
    if count and x.ndim > 1:
        differs = differs.any([i for i in range(x.ndim) if i != along % x.ndim])
    starts = _tenon.cat([_tenon.ones(1, dtype=_tenon.bool, device=x.device), differs]) if count else \
        _tenon.zeros(0, dtype=_tenon.bool, device=x.device)
    places = _tenon.nonzero(starts).reshape(-1)
    results = [x.index_select(along, places)]
    if return_inverse:
        inverse = starts.to(_tenon.int64).cumsum(0) - 1
        results.append(inverse.reshape(input.shape) if dim is None else inverse)
    if return_counts:
        results.append(_tenon.cat([places, _tenon.tensor([count], device=x.device)]).diff())
    return tuple(results) if len(results) > 1 else results[0]


def index_put(input, indices, values, accumulate=False) -> "Tensor":
    """A copy with values at positions, one tensor of them for each dim; accumulate: added to what is there."""
    return input.clone().index_put_(indices, values, accumulate)


def fill_diagonal_(self, fill_value, wrap=False) -> "Tensor":
    """Sets the elements whose positions are the same in all dims; wrap: in a tall matrix the diagonal begins again."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
        raise ValueError(f"fill_diagonal_() needs a matrix, or dims of one size, not {tuple(self.shape)}")
    rows, columns = self.shape[:2]
    if wrap and self.ndim == 2:
        flat = _tenon.arange(0, rows * columns, columns + 1, device=self.device)
        return self.index_put_(tuple(_tenon.unravel_index(flat, self.shape)), fill_value)
    places = _tenon.arange(min(self.shape), device=self.device)
    return self.index_put_((places,) * self.ndim, fill_value)


def asarray(obj, dtype=None, device=None, copy=None, requires_grad=False) -> "Tensor":
    """A tensor of whatever it is; the memory of tensors and arrays is shared where it can be. copy: it is never, or always."""
    from . import as_tensor

    if isinstance(obj, Tensor):
        made = obj if dtype is None and device is None else obj.to(dtype=dtype, device=device)
        if not requires_grad:
            made = made.detach() if made.requires_grad else made
    else:
        made = as_tensor(obj, dtype, device)
    is_shared = made.numel() == 0 or (made.data_ptr() == obj.data_ptr() if isinstance(obj, Tensor) else made.is_shared())
    if copy is False and not is_shared:
        raise ValueError(f"asarray() cannot share the memory of {_checks.shown(obj) if isinstance(obj, Tensor) else type(obj).__name__}")
    if copy and is_shared:
        made = made.detach().clone()
    return made.requires_grad_() if requires_grad and made.is_leaf else made


_checks.all_need_tensors(globals())
