"""Memory of loops that nobody reads from, step by step: what the process has in memory beyond its first 100 steps.

    PYTHONPATH=build/release/python python3 bench/python_memory.py [--steps 20000] [LOOP ...]

Each loop runs in a process of its own. docs/performance.md has its figures, tests/python/test_loops.py the bounds.
"""

import argparse
import subprocess
import sys

import python_loops


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def carried_state_unread(lib):
    """A GRU that is trained, whose state goes from step to step while nobody reads a loss."""
    nn = lib.nn
    net, out = nn.GRU(32, 64), nn.Linear(64, 16)
    optimizer = lib.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
    x, y, state, running = lib.rand(20, 8, 32), lib.randint(0, 16, (160,)), lib.zeros(1, 8, 64), lib.zeros(())

    def step():
        nonlocal state, running
        read, state = net(x, state.detach())
        loss = nn.functional.cross_entropy(out(read).reshape(160, 16), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.detach()

    return step


def distinct_graphs(lib):
    """Chains of 15 operations, no two of which are alike, each on a size of its own every thousand steps."""
    count = 0

    def step():
        nonlocal count
        x = y = lib.full((64 + count // 1000,), 0.75)
        for bit in range(15):
            y = y + x if count >> bit & 1 else y * x
        count += 1
        return y[0].item()

    return step


LOOPS = {"sum and list of losses": python_loops.unread_losses, "carried state, trained": carried_state_unread,
         "carried state, losses read": python_loops.carried_state, "graphs that all differ": distinct_graphs}


def run(name, steps):
    import tenon

    step = LOOPS[name](tenon)
    first, seen = 0, []
    for i in range(1, steps + 1):
        step()
        if i == 100:
            first = resident()
        if i % (steps // 4) == 0:
            seen.append(resident() - first)
    held = tenon.memory_allocated() / 2 ** 20
    print(f"| {name} | {' | '.join(f'{one:.1f}' for one in seen)} | {held:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("loops", nargs="*")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        return run(args.only, args.steps)
    parts = " | ".join(str(args.steps * i // 4) for i in range(1, 5))
    print(f"| MB beyond the first 100 steps, after | {parts} | held |\n|{' --- |' * 6}", flush=True)
    for name in args.loops or LOOPS:
        subprocess.run([sys.executable, __file__, "--only", name, "--steps", str(args.steps)], check=True)


if __name__ == "__main__":
    main()
