"""When a difference between two builds is more than the noise of the machine.

The build before runs twice in every round, in turns with the build after it. What its two runs differ by is the noise: of a
machine with these programs, at this hour. A loss counts when the median over the rounds of

    log(after) - (log(before) + log(before again)) / 2

exceeds as many standard errors as `errors` says, and the loss that the figure allows. The spread of the differences comes of
the A/A pairs and of the A/B differences together, because there are few rounds, and of a median, because a busy machine makes
outliers.
"""
import dataclasses
import math
import statistics

SUSPECT, CERTAIN = 2.0, 3.0  # standard errors: of a loss that is measured again, and of one that counts
SIGMA_OF_DEVIATION = 1.4826  # standard deviation of normal numbers / their median absolute deviation
ERROR_OF_MEDIAN = 1.2533     # standard error of a median of normal numbers / that of their mean


def quartiles_apart(values):
    """The spread that histories keep: the interquartile range, interpolated."""
    ordered = sorted(values)

    def at(part):
        place = part * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    return at(0.75) - at(0.25)


def deviation(values, centre):
    return SIGMA_OF_DEVIATION * statistics.median(abs(value - centre) for value in values)


@dataclasses.dataclass(frozen=True)
class Verdict:
    loss: float    # relative: 0.05 is 5 % slower, larger, or less of what more is better of
    margin: float  # a loss beyond this is one
    noise: float   # standard deviation of the same build's runs, relative
    rounds: int

    @property
    def is_loss(self):
        return self.loss > self.margin


def judge(before, again, after, more=False, allowed=0.01, errors=CERTAIN):
    """Of one figure, measured once a round on each side."""
    if not len(before) == len(again) == len(after) or len(before) < 3:
        raise ValueError("at least three rounds of all three sides are needed")
    if min(*before, *again, *after) < 0:
        raise ValueError("a figure is below zero")
    least = 1e-12  # a figure that is zero on both sides is the same
    logs = [[math.log(max(value, least)) for value in side] for side in (before, again, after)]
    same = [b - a for a, b, _ in zip(*logs)]
    differs = [(c - (a + b) / 2) * (-1 if more else 1) for a, b, c in zip(*logs)]
    loss = statistics.median(differs)
    # A difference has 1 + 1/4 + 1/4 variances of a run, a pair has 2.
    sigma = deviation([pair * math.sqrt(3 / 4) for pair in same] + [one - loss for one in differs], 0)
    error = ERROR_OF_MEDIAN * sigma / math.sqrt(len(differs))
    return Verdict(math.expm1(loss), max(allowed, math.expm1(errors * error)), deviation(same, 0) / math.sqrt(2), len(differs))


def judge_history(then, now, again, then_error, more=False, allowed=0.01, errors=CERTAIN):
    """Of one figure against a row of a history: `then` is its median (or its ratio to PyTorch) and `then_error` that number's
    relative standard error; `now` and `again` are rounds of one build, or their ratios."""
    if len(now) != len(again) or len(now) < 3 or min(*now, *again, then) <= 0:
        raise ValueError("at least three rounds of positive figures are needed")
    logs = [(math.log(a) + math.log(b)) / 2 for a, b in zip(now, again)]
    same = deviation([math.log(b) - math.log(a) for a, b in zip(now, again)], 0)
    middle = statistics.median(logs)
    loss = (middle - math.log(then)) * (-1 if more else 1)
    error = ERROR_OF_MEDIAN * max(same / 2, deviation(logs, middle)) / math.sqrt(len(logs))
    return Verdict(math.expm1(loss), max(allowed, math.expm1(errors * math.hypot(error, then_error))), same / math.sqrt(2), len(logs))
