"""How tensors are printed."""

import math
import sys

from . import _tenon

_options = {}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed, as numpy.set_printoptions says; needs numpy. profile: "default", "short" or "full"."""
    profiles = {"default": {}, "short": {"precision": 2, "threshold": 1000, "edgeitems": 2},
                "full": {"threshold": math.inf}}
    if profile is not None:
        if profile not in profiles:
            raise ValueError(f"there is no profile '{profile}'; there are 'default', 'short' and 'full'")
        _options.clear()
        _options.update(profiles[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    if sci_mode is not None:
        _options["suppress"] = not sci_mode
    _tenon._set_printer(_printed if _options else None)


def _printed(self):
    import numpy

    options = {**_options, "threshold": sys.maxsize} if _options.get("threshold") == math.inf else _options
    name = "Parameter(" if type(self).__name__ == "Parameter" else "tensor("
    with numpy.printoptions(**options):
        text = numpy.array2string(self.numpy(force=True), separator=", ", prefix=name)
    plain = (_tenon.float32, _tenon.int64, _tenon.bool)
    text += "" if self.dtype in plain else f", dtype={self.dtype.name}"
    text += "" if self.device.name == "cpu" else f", device='{self.device}'"
    return name + text + (", requires_grad=True)" if self.requires_grad and name == "tensor(" else ")")
