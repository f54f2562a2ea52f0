"""What `import tenon` costs, beside PyTorch where it is installed.

    PYTHONPATH=build/release/python python3 bench/python_bench.py [--torch PYTHON]

PYTHON is the interpreter that has torch; the same module runs there too, so that both are timed by one Python. The
captured steps are compared with those of C++ where build/release/bin/python_steps was built. Loops that are not captured
(python_loops.py) run in processes of their own, PyTorch's with oneDNN and without, of which the faster counts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import timeit

import python_loops


def microseconds(function, number=20000, repeat=15):
    return min(timeit.repeat(function, number=number, repeat=repeat)) / number * 1e6


def small_ops(library):
    """The best of several rounds, less what an empty call costs."""
    empty = microseconds(lambda: None)
    x, a, b = (library.rand(64, 64) for _ in range(3))
    if library.__name__ == "tenon":
        library.wait(x, a, b)
    return {name: microseconds(function) - empty for name, function in {
        "reshape": lambda: x.reshape(32, 128), "transpose": lambda: x.transpose(0, 1), "x[1:3]": lambda: x[1:3],
        "x[1:3, 2:4]": lambda: x[1:3, 2:4], "x[1]": lambda: x[1], "a + b": lambda: a + b}.items()}


def import_cost():
    code = ("import re, time\n"
            "def resident(): return int(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()).group(1))\n"
            "before, t = resident(), time.perf_counter()\n"
            "import tenon\n"
            "print(time.perf_counter() - t, resident() - before)")
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(5)]
    return min(float(seconds) for seconds, _ in runs), max(int(kilobytes) for _, kilobytes in runs) / 1024


def numpy_there_and_back():
    import numpy
    import tenon

    a = numpy.zeros(1 << 28, numpy.float32)
    tenon.from_numpy(numpy.zeros(1, numpy.float32)).numpy()
    before, times = tenon.memory_allocated(), []
    for _ in range(5):
        start = time.perf_counter()
        b = tenon.from_numpy(a).numpy()
        times.append(time.perf_counter() - start)
    assert numpy.shares_memory(a, b)
    return min(times) * 1e3, tenon.memory_allocated() - before


def captured(loss_of, parameters, make, x, y, warm_up, steps, rounds):
    """Microseconds of a captured step, the shortest of several rounds."""
    import tenon

    optimizer = make(parameters)

    def plain(x, y):
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    step = tenon.compile(plain, verify_every=0)
    for _ in range(warm_up):
        step(x, y)

    def run():
        for _ in range(steps):
            loss = step(x, y)
        loss.item()

    return min(timeit.repeat(run, number=1, repeat=rounds)) / steps * 1e6


def mlp():
    import tenon
    from tenon import nn

    tenon.manual_seed(1)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    x, y = tenon.rand(32, 16), tenon.rand(32, 4)
    tenon.wait(x, y)
    return captured(lambda x, y: nn.functional.mse_loss(net(x), y), net.parameters(), tenon.optim.Adam, x, y, 100, 1000, 9)


def distilgpt2():
    import tenon

    tenon.manual_seed(1)
    model = tenon.models.GPT2("distilgpt2")
    ids = tenon.randint(0, 50257, (1, 65))
    return captured(model.loss, model.parameters(), tenon.optim.AdamW, ids[:, :64], ids[:, 1:], 3, 2, 4)


def beside_cpp(name):
    """In processes of their own and by turns, because the machine is not always as fast."""
    program = os.path.join(os.path.dirname(__file__), "..", "build", "release", "bin", "python_steps")

    def run(*command):
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    mine, theirs = [], []
    for _ in range(3):
        mine.append(run(sys.executable, __file__, "--only", name))
        if os.path.exists(program):
            theirs.append(run(program, name))
    text = f"captured step, {name}: {min(mine):.1f} us"
    return text + (f", in C++ {min(theirs):.1f} us, {min(mine) / min(theirs):.3f} x" if theirs else "")


def loop(library, name):
    """Milliseconds of a step; the library is tenon, torch or torch-without-onednn."""
    module = __import__(library.split("-")[0])
    if library.endswith("without-onednn"):
        module.backends.mkldnn.enabled = False
    return python_loops.milliseconds(module, name)


def beside_torch(python, names):
    for name in names:
        times = {}
        for library in ("tenon", "torch", "torch-without-onednn"):
            run = subprocess.run([python, __file__, "--only", f"{library}:{name}"], capture_output=True, text=True, env=os.environ)
            if run.returncode == 0:
                times[library] = float(run.stdout.split()[-1])
        mine, theirs = times.pop("tenon", None), min(times.values(), default=None)
        if mine is not None:
            print(f"{name:26} {mine:8.3f} ms" + (f", torch {theirs:8.3f} ms, {mine / theirs:.2f} x" if theirs else ""))


def by_turns(names, threads):
    """Both in this process, which has torch, and in turn: what else runs on the machine changes both alike."""
    import tenon
    import torch

    for library in (tenon, torch):
        library.set_num_threads(threads)
    for name in names:
        (mine, my_processor), (theirs, their_processor) = python_loops.by_turns((tenon, torch), name)
        print(f"{name:36} {mine:9.1f} us, torch {theirs:9.1f} us, {mine / theirs:.2f} x; processor time {my_processor:9.1f}, "
              f"{their_processor:9.1f} us, {my_processor / their_processor:.2f} x", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", help="the Python that has torch")
    parser.add_argument("--fast", action="store_true", help="without DistilGPT-2")
    parser.add_argument("--loops", nargs="*", help="the loops and functions of python_loops.py alone, or those named")
    parser.add_argument("--by-turns", nargs="*", help="the same by turns in one process, by a Python that has torch")
    parser.add_argument("--threads", type=int, default=2, help="of --by-turns")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only in ("mlp", "distilgpt2"):
        print({"mlp": mlp, "distilgpt2": distilgpt2}[args.only]())
        return
    if args.only and ":" in args.only:
        print(loop(*args.only.split(":")))
        return
    if args.by_turns is not None:
        by_turns(args.by_turns or python_loops.LOOPS, args.threads)
        return
    if args.loops is not None:
        beside_torch(args.torch or sys.executable, args.loops or python_loops.LOOPS)
        return
    if args.only:
        print(json.dumps(small_ops(__import__(args.only))))
        return
    results = {}
    for name in ("tenon", "torch"):
        python = args.torch or sys.executable
        run = subprocess.run([python, __file__, "--only", name], capture_output=True, text=True, env=os.environ)
        if run.returncode == 0:
            results[name] = json.loads(run.stdout)
        else:
            print(f"{name} is not there: {run.stderr.strip().splitlines()[-1]}")
    for name, mine in results.get("tenon", {}).items():
        theirs = results.get("torch", {}).get(name)
        print(f"{name:12} {mine:6.2f} us" + (f", torch {theirs:5.2f} us, {mine / theirs:.2f} x" if theirs else ""))
    milliseconds, copied = numpy_there_and_back()
    print(f"numpy -> tenon -> numpy of 1 GB: {milliseconds:.3f} ms, {copied} bytes copied")
    seconds, megabytes = import_cost()
    print(f"import tenon: {seconds:.3f} s, {megabytes:.1f} MB")
    beside_torch(args.torch or sys.executable, python_loops.LOOPS)
    print(beside_cpp("mlp"))
    if not args.fast:
        print(beside_cpp("distilgpt2"))


if __name__ == "__main__":
    main()
