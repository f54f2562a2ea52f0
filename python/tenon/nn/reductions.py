"""The reduction of losses, in the words of today and in those of PyTorch 0.4: size_average and reduce."""

from .. import checks as _checks

_REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction, known=_REDUCTIONS):
    """Refuses what is no reduction."""
    if reduction not in known:
        names = [repr(name) for name in known]
        raise ValueError(f"there is no reduction {_checks.shown(reduction)}; there are {', '.join(names[:-1])} and {names[-1]}")
    return reduction


def reduction_of(size_average, reduce, reduction):
    """The reduction, also in the words of PyTorch 0.4."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"
