#!/usr/bin/env python3
"""Resumes a run while the system fails: fault_test.py [--quick] [--only TEXT] [--part I/N] [--errors EIO,EMFILE,ESTALE]

A run of 20 steps is stopped after 12. `strace` lists every system call of the resume that names a file of the run, and then
each of them fails in turn, one a resume; and then all calls of a kind on one file or folder do, from the first on. Whatever
the process does about it, nothing may be lost: all checkpoints are whole afterwards, the newest is no older than before, no
step was taken again, a process that failed said why in one line, and it or the next resume ends with the bits of a run that
was never stopped.

TENON_BIN is the folder of `tenon` and `verify_run` (default build/release/bin). --part I/N takes every Nth fault from the Ith
on, --only the calls whose line has TEXT in it, --quick those on the folder of checkpoints itself. Exits with 77 where strace is missing or may not trace.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("TENON_BIN", SOURCE / "build/release/bin")).resolve()
SETTINGS = """tokenizer.kind=byte model.layers=1 model.heads=2 model.width=32 model.context=16 model.dropout=0.1
    training.steps=20 training.batch_size=4 training.log_every=1 training.eval_every=5 training.eval_batches=2
    checkpoint.every=5 checkpoint.keep_last=2 sample.every=5 sample.tokens=8 device.threads=1""".split()
NEVER_FAIL = {"munmap"}  # whoever asks looks at no answer


def run(*command):
    """Its exit code and what it said on stderr."""
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=300)
    return done.returncode, done.stderr


class Calls:
    """The calls of a traced resume that touch the run: name, which one of its name in its thread, and strace's line."""

    def __init__(self, trace, folder):
        self.found = []
        counts = collections.Counter()
        for line in trace.read_text(errors="replace").splitlines():
            call = re.match(r"(\d+) +(\w+)\(", line)
            if not call:
                continue  # a signal, or the rest of a call that began above
            thread, name = call.groups()
            counts[thread, name] += 1
            if str(folder) in line and name not in NEVER_FAIL:
                self.found.append((name, counts[thread, name], line))


def place_of(line, folder):
    """The file or folder of the run that a call is about."""
    return re.search(re.escape(str(folder)) + r'[^">]*', line).group().rstrip("/")


def newest_step(folder):
    steps = [name for name in os.listdir(folder / "checkpoints") if re.fullmatch(r"step_\d+", name)]
    return max(steps, default="")


class Faults:
    def __init__(self, folder):
        self.whole, self.begun, self.run = folder / "whole", folder / "begun", folder / "run"
        config = folder / "config.json"
        config.write_text(subprocess.run([BIN / "tenon", "config", "--print-defaults"], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)
        settings = [part for setting in [f"data.train={SOURCE}/docs/config.md", *SETTINGS] for part in ("--set", setting)]
        for out, more in (self.whole, []), (self.begun, ["--stop-after", 12]):
            code, said = run(BIN / "tenon", "train", config, *settings, "--out", out, *more)
            assert code == 0, said

    def fresh(self):
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.begun, self.run, symlinks=True)

    def resume(self, *strace):
        return run(*strace, BIN / "tenon", "train", "--resume", self.run, "--quiet")

    def calls(self, trace):
        self.fresh()
        code, said = self.resume("strace", "-f", "-y", "-s", 200, "-e", "trace=%file,%desc", "-o", trace)
        if code != 0:
            print(f"fault_test: skipped: strace does not trace here: {said.strip()}")
            sys.exit(77)
        return Calls(trace, self.run).found

    def is_whole(self):
        return run(BIN / "verify_run", self.whole, self.run)[0] == 0

    def lost(self, fault, *where):
        """What was lost by calls that failed; empty where nothing was."""
        self.fresh()
        before = newest_step(self.run)
        code, said = self.resume("strace", "-f", "-qq", "-o", "/dev/null", *where, "-e", f"trace={fault.split(':')[0]}",
                                 "-e", f"inject={fault}")
        if code not in (0, 1):
            return f"ended with {code}: {said}"
        if code == 1 and said.count("\n") != 1:
            return f"said {said!r} instead of one line"
        if newest_step(self.run) < before:
            return f"the newest checkpoint is {newest_step(self.run)}, it was {before}: {said}"
        if not (self.run / "metrics.jsonl").read_bytes().startswith((self.begun / "metrics.jsonl").read_bytes()):
            return f"its steps were taken again: {said}"
        damaged, what = run(BIN / "verify_run", self.run)
        if damaged:
            return f"left a damaged run: {what} ({said.strip()})"
        if code == 0 and self.is_whole():
            return ""
        code, said_then = self.resume()
        if code != 0:
            return f"the next resume failed: {said_then} ({said.strip()})"
        if not self.is_whole():
            return f"the next resume has other bits ({said.strip()})"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--errors", default="EIO,EMFILE,ESTALE")
    wanted = parser.parse_args()
    if not shutil.which("strace"):
        print("fault_test: skipped: strace is not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        faults = Faults(folder)
        calls = faults.calls(folder / "trace")
        is_quick = re.compile(r'/checkpoints[">]').search if wanted.quick else bool
        chosen = [call for call in calls if wanted.only in call[2] and is_quick(call[2])]
        places = sorted({(name, place_of(line, faults.run)) for name, _, line in chosen})
        tried = []
        for error in wanted.errors.split(","):
            if not wanted.quick:
                tried += [(f"{name}:error={error}:when={n}", ()) for name, n, _ in chosen]
            tried += [(f"{name}:error={error}", ("-P", place)) for name, place in places]
        first, step = map(int, wanted.part.split("/"))
        tried = tried[first - 1::step]
        failures = 0
        for fault, where in tried:
            lost = faults.lost(fault, *where)
            failures += bool(lost)
            if lost:
                print(f"{fault} {' '.join(where)}: {lost}", flush=True)
        print(f"{len(tried)} faults ({wanted.errors}; {len(chosen)} calls, {len(places)} places): {failures} lost something")
        return failures != 0


if __name__ == "__main__":
    sys.exit(main())
