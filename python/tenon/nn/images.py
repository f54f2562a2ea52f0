"""Functions of images that read them at other places: fold, grid_sample and what belongs to them."""

from .. import _tenon
from .. import checks as _checks


def _two(value):
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2:
        raise ValueError(f"a size or two are needed, not {len(both)}")
    return both


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> "Tensor":
    """Sums columns of windows, as unfold() makes them, into an image: (batch, channels * window, windows), or without a batch."""
    if input.ndim not in (2, 3):
        raise ValueError(f"fold() needs (batch, channels * window, windows) or (channels * window, windows), not {tuple(input.shape)}")
    size, kernel, dilation, padding, stride = map(_two, (output_size, kernel_size, dilation, padding, stride))
    if min(*kernel, *dilation, *stride) < 1 or min(padding) < 0:
        raise ValueError(f"fold() needs sizes of 1 or more and a padding of 0 or more, not {kernel}, {dilation}, {stride} and {padding}")
    counts = [(size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    window = kernel[0] * kernel[1]
    if input.shape[-2] % window or min(counts) < 1 or input.shape[-1] != counts[0] * counts[1]:
        raise ValueError(f"fold() to {size} needs {max(counts[0], 0) * max(counts[1], 0)} columns of a multiple of {window} elements, not "
                         f"{input.shape[-1]} of {input.shape[-2]}")
    columns = input if input.ndim == 3 else input.unsqueeze(0)
    batch, channels = columns.shape[0], columns.shape[1] // window
    height, width = (size[i] + 2 * padding[i] for i in (0, 1))

    def places(i):
        """Where the elements of a window's side are, for every window: (kernel, windows)."""
        return (_tenon.arange(kernel[i], device=input.device) * dilation[i]).reshape(-1, 1) + \
            _tenon.arange(counts[i], device=input.device) * stride[i]

    rows, across = places(0), places(1)
    flat = rows.reshape(kernel[0], 1, counts[0], 1) * width + across.reshape(1, kernel[1], 1, counts[1])
    image = _tenon.zeros((batch, channels, height * width), dtype=input.dtype, device=input.device)
    image = image.index_add(2, flat.reshape(-1), columns.reshape(batch, channels, window * counts[0] * counts[1]))
    image = image.reshape(batch, channels, height, width)[:, :, padding[0]:height - padding[0], padding[1]:width - padding[1]]
    return image if input.ndim == 3 else image[0]


def affine_grid(theta, size, align_corners=None) -> "Tensor":
    """The places, from -1 to 1, that grid_sample() reads for images (batch, channels, height, width) moved by matrices (batch, 2, 3)."""
    if len(size) != 4 or theta.ndim != 3 or tuple(theta.shape) != (size[0], 2, 3):
        raise ValueError(f"affine_grid() needs a size (batch, channels, height, width) and matrices (batch, 2, 3), not {tuple(size)} and "
                         f"{tuple(theta.shape)}")
    batch, _, height, width = size

    def steps(count):
        if count == 1:
            return _tenon.zeros(1, dtype=theta.dtype, device=theta.device)
        line = _tenon.linspace(-1, 1, count, dtype=theta.dtype, device=theta.device)
        return line if align_corners else line * ((count - 1) / count)

    across, down = steps(width).reshape(1, width, 1), steps(height).reshape(height, 1, 1)
    ones = _tenon.ones((height, width, 1), dtype=theta.dtype, device=theta.device)
    base = _tenon.cat([across.expand(height, width, 1), down.expand(height, width, 1), ones], 2).reshape(1, height * width, 3)
    return _tenon.matmul(base, theta.transpose(1, 2)).reshape(batch, height, width, 2)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None) -> "Tensor":
    """Reads images (batch, channels, height, width) at places (batch, rows, columns, 2), x before y, from -1 to 1.

    mode: "bilinear" or "nearest". padding_mode: what lies outside, "zeros" or the "border". align_corners: -1 and 1 are the
    middles of the outermost pixels, else their outer edges.
    """
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"grid_sample() has no mode {_checks.shown(mode)}; there are 'bilinear' and 'nearest'")
    if padding_mode not in ("zeros", "border"):
        raise ValueError(f"grid_sample() has no padding_mode {_checks.shown(padding_mode)}; there are 'zeros' and 'border'")
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[0] != input.shape[0] or grid.shape[3] != 2:
        raise ValueError(f"grid_sample() needs images (batch, channels, height, width) and a grid (batch, rows, columns, 2), not "
                         f"{tuple(input.shape)} and {tuple(grid.shape)}")
    if input.dtype != grid.dtype:
        raise TypeError(f"grid_sample() needs images and a grid of one dtype, not {input.dtype.name} and {grid.dtype.name}")
    batch, channels, height, width = input.shape
    if not height * width:
        raise ValueError(f"grid_sample() needs images with pixels, not {tuple(input.shape)}")
    pixels = input.reshape(batch, channels, height * width)

    def place(unit, size):
        at = (unit + 1) / 2 * (size - 1) if align_corners else ((unit + 1) * size - 1) / 2
        return at.clamp(0, size - 1) if padding_mode == "border" else at

    def read(x, y):
        """Pixels at whole places, (batch, channels, rows, columns), and 0 outside."""
        # Copies, so that places are computed once and not for every channel.
        inside = ((x >= 0) & (x < width) & (y >= 0) & (y < height)).clone()
        flat = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).to(_tenon.int64).clone()
        found = pixels.gather(2, flat.reshape(batch, 1, -1).expand(batch, channels, flat.numel() // batch))
        nothing = _tenon.zeros((), dtype=input.dtype, device=input.device)
        return _tenon.where(inside.unsqueeze(1), found.reshape(batch, channels, *grid.shape[1:3]), nothing)

    x, y = place(grid[..., 0], width), place(grid[..., 1], height)
    if mode == "nearest":
        return read(x.detach().round(), y.detach().round())
    left, top = x.detach().floor(), y.detach().floor()
    right, low = (x - left).unsqueeze(1), (y - top).unsqueeze(1)  # how far towards the next pixel
    upper = read(left, top) * (1 - right) + read(left + 1, top) * right
    lower = read(left, top + 1) * (1 - right) + read(left + 1, top + 1) * right
    return upper * (1 - low) + lower * low


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0) -> "Tensor":
    """x / (k + alpha * mean of the squares of so many neighbouring channels) ** beta; Krizhevsky et al., 2012."""
    if not input.is_floating_point():
        raise _tenon.Error(f"[local_response_norm] takes floating-point values, got {input.dtype.name}; convert with to(tenon.float32)")
    if input.ndim < 3:
        raise ValueError(f"local_response_norm() needs (batch, channels, length, ...), not {tuple(input.shape)}")
    channels, sides = input.shape[1], (size // 2, (size - 1) // 2)
    squares = _tenon.pad(input * input, (*(0, 0) * (input.ndim - 2), *sides))
    total = squares.narrow(1, 0, channels)
    for i in range(1, size):
        total = total + squares.narrow(1, i, channels)
    return input / (total * (alpha / size) + k) ** beta


_checks.all_need_tensors(globals())
