"""Compares `import tenon` with PyTorch on PyTorch's own operator samples: run.py [--only NAME ...] [--jobs N] [--most N]

What is expected is what PyTorch 2.15 gives; in 2.11, for instance, gradients of clamp and fmax are others at their bounds.

Each entry of torch.testing's table runs in a process of its own, with a limit of memory and of time for each sample: what
crashes or hangs is counted and the samples after it still run. Prints a table of what differs, and ends with 1 where a value,
shape, dtype or gradient is wrong, an error input is accepted or a process crashed, unless known_differences.py names the sample,
and where it names samples that do not differ. --findings FILE writes every finding with its arguments as a line of JSON.
"""

import argparse
import collections
import json
import os
import resource
import selectors
import signal
import sys
import time
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

MEMORY = 4 << 30  # bytes that a process may ask for beyond what PyTorch itself maps
SECONDS_A_SAMPLE = 60
MOST_CRASHES = 20  # of one entry, after which the rest of it is left out
FAULTS = ("crash", "wrong value", "wrong gradient", "wrong shape", "wrong dtype", "gradient missing", "captured differs",
          "error accepted")
LACKS = ("gradient refused", "refused")
ROUNDING = "rounding"


class Child:
    """A process that runs the samples of one entry from a number on."""

    def __init__(self, op, start, *how):
        self.op, self.number, self.now, self.heard = op, start, {"where": "start"}, time.monotonic()
        reading, writing = os.pipe()
        self.id = os.fork()
        if self.id == 0:
            os.close(reading)
            _run_child(op, start, how, writing)
        os.close(writing)
        self.pipe, self.rest = reading, b""

    def lines(self):
        """What it wrote since; None at its end."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            return None
        self.heard = time.monotonic()
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in whole]


def _run_child(op, start, how, writing):
    status = 1
    try:
        for line in open("/proc/self/statm"):
            mapped = int(line.split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        warnings.simplefilter("ignore")
        import one_op

        with os.fdopen(writing, "w") as out:
            one_op.run(op, one_op.Report(lambda what: (out.write(json.dumps(what) + "\n"), "now" in what and out.flush())), start, *how)
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    os._exit(status)


class Findings:
    """Counts, and the first of each kind, for every entry; what is known is counted apart, by its place in the list."""

    def __init__(self, known, write):
        self.counts = collections.defaultdict(collections.Counter)
        self.first = {}
        self.known, self.seen, self.write = known, collections.Counter(), write

    def note(self, op, finding):
        name, kind = name_of(op), finding["kind"]
        if kind == "passed":
            self.counts[name][kind] += 1
            return
        known = next((i for i, one in enumerate(self.known) if one.fits(name, finding)), None)
        self.write({"op": name, "known": known is not None, **finding})
        if known is not None:
            self.seen[known] += 1
            return
        self.counts[name][kind] += 1
        self.first.setdefault((name, kind), f"{finding['where']}: {finding['text']} [{finding['given']}]")


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def run_all(ops, jobs, how, findings):
    """Runs the entries, `jobs` at a time."""
    waiting, running = collections.deque((op, 0) for op in ops), selectors.DefaultSelector()
    done = 0
    while waiting or running.get_map():
        while waiting and len(running.get_map()) < jobs:
            child = Child(*waiting.popleft(), *how)
            running.register(child.pipe, selectors.EVENT_READ, child)
        for key, _ in running.select(timeout=1):
            child = key.data
            lines = child.lines()
            for line in lines or ():
                if "now" in line:
                    child.number, child.now = line["now"], line
                else:
                    findings.note(child.op, line)
            if lines is None:
                running.unregister(child.pipe)
                os.close(child.pipe)
                status = os.waitpid(child.id, 0)[1]
                if status:
                    findings.note(child.op, {"dtype": "", "given": "", "off": float("inf"), **child.now, "kind": "crash", "text": _how(status)})
                    if findings.counts[name_of(child.op)]["crash"] < MOST_CRASHES:
                        waiting.append((child.op, child.number))
                        continue
                done += 1
                if sys.stderr.isatty():
                    print(f"\r{done} of {len(ops)}", end="", file=sys.stderr, flush=True)
                findings.write({"op": name_of(child.op), "done": done})
        for key in list(running.get_map().values()):
            if time.monotonic() - key.data.heard > SECONDS_A_SAMPLE:
                os.kill(key.data.id, signal.SIGKILL)
                key.data.heard = time.monotonic()


def _how(status):
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"


def report(findings, ops, is_whole):
    """Prints the table; returns how many findings are faults that nobody knows, and known ones that are none."""
    counts = findings.counts
    faults = 0
    print(f"{'op':44} {'kind':18} {'count':>6}  first")
    for kind in (*FAULTS, ROUNDING, *LACKS):
        for name in sorted(counts):
            if not counts[name][kind]:
                continue
            faults += counts[name][kind] if kind in FAULTS else 0
            print(f"{name:44} {kind:18} {counts[name][kind]:6}  {findings.first[name, kind]}")
    ran = {name_of(op) for op in ops}
    for i, known in enumerate(findings.known):
        if findings.seen[i]:
            print(f"{known.op:44} {known.kind:18} {findings.seen[i]:6}  known, {known.dtypes}: {known.reason}")
        elif is_whole and known.op in ran:
            faults += 1
            print(f"{known.op:44} {known.kind:18} {0:6}  does not differ any more, and is to go from known_differences.py: {known.given}")
    whole = sum(not any(counts[name_of(op)][kind] for kind in (*FAULTS, *LACKS)) for op in ops)
    passed = sum(one["passed"] for one in counts.values())
    refused = sum(one["refused"] + one["gradient refused"] for one in counts.values())
    rounding = sum(one[ROUNDING] for one in counts.values())
    print(f"{len(ops)} entries, {whole} of them pass wholly; {passed} comparisons pass, {refused} samples are refused, "
          f"{rounding} are off by rounding, as PyTorch's are, "
          f"{sum(findings.seen.values())} differ as known_differences.py says, {faults} are wrong")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="NAME", help="entries of these names, as PyTorch's table has them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many run at a time")
    parser.add_argument("--most", type=int, default=0, help="samples of each entry and dtype; 0: all")
    parser.add_argument("--errors", action="store_true", help="only what PyTorch refuses")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every Nth entry only, from the Ith on")
    parser.add_argument("--findings", metavar="FILE", help="where every finding goes, a line of JSON each")
    parser.add_argument("--missing", action="store_true", help="print the names that Tenon lacks, and end")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.simplefilter("ignore")
    try:
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        sys.exit(f"make test-against-torch: {sys.executable} has no PyTorch ({error}); give PYTHON=path of one that has")
    import known_differences
    import translate

    torch.set_num_threads(1)
    ops = [op for op in op_db if not given.only or op.name in given.only]
    if given.missing:
        print(" ".join(sorted({op.name for op in ops if not translate.forms_of(op)})))
        return
    ops = [op for op in ops if translate.forms_of(op)]
    first, step = map(int, given.part.split("/"))
    ops = ops[first - 1::step]
    with open(given.findings or os.devnull, "w", buffering=1) as out:
        findings = Findings(known_differences.KNOWN, lambda what: out.write(json.dumps(what) + "\n"))
        run_all(ops, given.jobs, (given.most, given.errors), findings)
    sys.exit(1 if report(findings, ops, not given.most and not given.errors) else 0)


if __name__ == "__main__":
    main()
