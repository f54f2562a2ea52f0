"""Layers that are one function of nn.functional, as rows of a table:

    ELU(alpha: float = 1.0, inplace: bool = False) = elu(input, alpha, inplace) ; x, or alpha * (exp(x) - 1) below 0.

are the class, its settings, the call that forward() makes, and what it gives. Settings are attributes; other names in the call
are the arguments of forward(), but `training`, which all modules have. Of the settings

    weight: Tensor      is a buffer, which to() moves along, or None
    stride=kernel_size  is the value of another setting where none is given
    reduction           makes the class a Loss, which takes PyTorch 0.4's size_average and reduce as well

`shows a, b` before the help text names the settings that are printed, where these are not all.
"""

import re

from .. import checks
from . import functional as F
from .module import Module

_ROW = re.compile(r"(\w+)\((.*)\) = (\w+)\((.*)\)(?: shows ([\w, ]+))? ; (.+)")
_SETTING = re.compile(r"(\w+)(?:: (\w+))?(?:( ?= ?)(.+))?")
_OF_LOSSES = ("size_average", "reduce", "reduction")


class Loss(Module):
    """A loss with a reduction, also in the words of PyTorch 0.4: size_average and reduce."""

    __constants__ = ("reduction",)
    _reductions = ("none", "mean", "sum")

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        if reduction not in self._reductions:
            names = [repr(name) for name in self._reductions]
            raise ValueError(f"there is no reduction {checks.shown(reduction)}; there are {', '.join(names[:-1])} and {names[-1]}")
        self.reduction = reduction

    def extra_repr(self):
        return ""


def _source(row):
    """The class of a row, as one would write it."""
    name, settings, function, call, shown, about = _ROW.fullmatch(row).groups()
    settings = [_SETTING.fullmatch(one).groups() for one in settings.split(", ") if one and one != "*"]
    names = [one[0] for one in settings]
    is_loss = "reduction" in names
    buffers = [one for one, kind, _, _ in settings if kind == "Tensor"]
    plain = [one for one in names if one not in buffers and not (is_loss and one in _OF_LOSSES)]
    others = {one: other for one, _, _, other in settings if other in names}
    inputs = [one for one in re.findall(r"\w+", re.sub(r"\w+=", "", call)) if one not in (*names, "training")]
    lines = [f"class {name}({'Loss' if is_loss else 'Module'}):", f"    {about!r}"]
    if settings:
        constants = [*plain, *(["reduction"] if is_loss else [])]
        parameters = ", ".join(
            one + (f": {kind}" if kind and kind != "Tensor" else "") + ("" if default is None else "=None" if one in others else equals + default)
            for one, kind, equals, default in settings)
        star = "*, " if "(*, " in row else ""
        above = ", ".join(f"{one}={one}" for one in _OF_LOSSES if one in names) if is_loss else ""
        lines += [f"    __constants__ = {tuple(constants)}", f"    def __init__(self, {star}{parameters}):", f"        super().__init__({above})"]
        lines += [f"        self.{one} = " + (f"{others[one]} if {one} is None else {one}" if one in others else one) for one in plain]
        lines += [f"        self.register_buffer('{one}', {one})" for one in buffers]
    passed = re.sub(r"\b(\w+)\b(?!=)", lambda found: found[1] if found[1] in inputs else f"self.{found[1]}", call)
    lines += [f"    def forward(self, {', '.join(inputs)}):", f"        return F.{function}({passed})"]
    if shown:
        inside = ", ".join(f"{one}={{self.{one}}}" for one in shown.split(", "))
        lines += ["    def extra_repr(self):", f"        return f'{inside}'"]
    return "\n".join(lines)


def layers_of(module, table):
    """The classes of a table's rows by their names, as those of a module."""
    names = {"__name__": module, "F": F, "Loss": Loss, "Module": Module}
    before = set(names)
    exec(compile("\n".join(map(_source, table.strip().split("\n"))), f"<layers of {module}>", "exec"), names)
    return {name: one for name, one in names.items() if name not in before and name != "__builtins__"}


def kinds_of(module, base, kinds):
    """Classes below another, which differ by their help texts and a few attributes: {name: (help, attributes)}."""
    return {name: type(name, (base,), {"__doc__": about, "__module__": module, **attributes}) for name, (about, attributes) in kinds.items()}
