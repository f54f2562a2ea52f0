"""Runs cases by turns on several sides, and sums up their rounds."""
import os
import statistics
import subprocess
import sys
import time

from cases import NotHere
from noise import quartiles_apart


def start(command, environment):
    """What a program prints; NotHere with its last words where it fails."""
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()
        raise NotHere(f"{os.path.basename(command[0])} ended with {done.returncode}: {words[-1][:200]}")
    return done.stdout


def by_turns(cases, sides, setting, rounds, report=lambda text: None):
    """{figure: {side's name: [a value a round]}}. The order of the sides moves on by one each round, so that none always runs
    first. A side on which a case fails is left out of it; `report` says so once."""
    values, missing = {}, set()
    for case in cases:
        begun = time.monotonic()
        for number in range(rounds):
            turn = number % len(sides)
            for side in sides[turn:] + sides[:turn]:
                work = case.torch if side.is_torch else case.tenon
                if work is None or (case.name, side.name) in missing or (side.is_torch and case.torch_once and number > 0):
                    continue
                try:
                    found = work(side, setting)
                except (NotHere, OSError, ValueError, KeyError, IndexError) as why:
                    missing.add((case.name, side.name))
                    report(f"{case.name}, {side.name}: left out: {why or type(why).__name__}")
                    continue
                for figure, value in found.items():
                    values.setdefault(figure, {}).setdefault(side.name, []).append(value)
        report(f"{case.name}: {time.monotonic() - begun:.0f} s")
    return values


def rounded(value):
    return float(f"{value:.5g}")


def rows(values, setting, side="tenon", torch="torch"):
    """As histories keep them; figures that the side does not have are left out."""
    found = []
    for figure, by_side in values.items():
        mine, theirs = by_side.get(side), by_side.get(torch)
        if not mine:
            continue
        median = statistics.median(mine)
        row = {"bench": figure.bench, "case": figure.case, "device": setting.place, "dtype": figure.dtype, "size": setting.size, "unit": figure.unit,
               "median": rounded(median), "spread": rounded(quartiles_apart(mine)), "rounds": len(mine), "torch": None, "ratio": None}
        if figure.more:
            row["more"] = True
        if theirs:
            other = statistics.median(theirs)
            row |= {"torch": rounded(other), "torch_spread": rounded(quartiles_apart(theirs))}
            if other > 0 and median > 0:
                row["ratio"] = rounded(median / other if figure.more else other / median)
        found.append(row)
    return found


def torch_of(python):
    """(version, whether it sees a GPU), or None where this Python has no PyTorch."""
    try:
        done = subprocess.run([python, "-c", "import torch; print(torch.__version__, int(torch.cuda.is_available()))"], capture_output=True, text=True, check=True)
        version, on_gpu = done.stdout.split()
        return version, on_gpu == "1"
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def say(text):
    print(text, file=sys.stderr, flush=True)
