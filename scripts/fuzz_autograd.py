#!/usr/bin/env python3
"""Random programs of autograd, run by PyTorch and by Tenon: values, gradients, what hooks see, and which are refused.

    PYTHONPATH=build/release/python /path/to/python-with-torch scripts/fuzz_autograd.py --programs 10000 --seed 0

A program is a list of lines of Python over `t`, which is torch or tenon. It has views of views, writes in place through
them, shapes changed in place, slices and masks that are assigned, hooks, retain_grad, blocks of no_grad, detach, second derivatives, and several
backward passes over one graph. What differs is shrunk to the fewest lines that still differ and printed as code.

Tenon's graph keeps the values that ops were recorded with. So it runs programs that PyTorch refuses because a value "has
been modified by an inplace operation", and must give the gradients that PyTorch gives where it is made to keep copies of
what it saves. It refuses, by name, what REFUSALS lists.
"""

import argparse
import contextlib
import math
import random
import re
import subprocess
import sys
import time
import warnings

import torch

import tenon

# What Tenon refuses and PyTorch runs: a text of the error, and why.
REFUSALS = (
    "values that need gradients are written into a tensor that is cut from them",  # d = y.detach(); d.mul_(w)
    "several elements of this expanded view are one element of memory",  # v = y.expand(2); v[[0]] = z
    "no strides show",  # (x.t().clone() * 2).T.view(-1): results lie in the order of their dims, PyTorch's in that of x
)
# What PyTorch refuses and Tenon runs, because what it would have to compute is known there.
KNOWN_THERE = (
    "modified by an inplace operation",
    "This view is the output of a function that returns multiple views",
)
# What PyTorch refuses as it has no copy of what is read and written; Tenon reads all of it before it writes.
NOT_COMPARED = ("some elements of the input tensor and the written-to tensor refer to a single memory location",)

SHAPES = ((2, 3), (3,), (2, 2), (3, 2), (1, 3), (6,), ())


class Writer:
    """Writes one program. It follows shapes, by running it with PyTorch."""

    def __init__(self, seed, lines):
        self.random = random.Random(seed)
        self.lines = []
        self.count = lines
        self.hooks = 0
        self.space = new_space(torch)
        self.names = []
        self.leaves = []
        # PyTorch says of a second derivative that is 0 everywhere that it requires grad. And one that is made of a result
        # which was written in place depends, there, on what was written, not on what it was computed from: no such ops
        # where gradients are differentiated.
        self.smooth = self.random.random() < 0.5

    def name(self, prefix):
        self.serial = getattr(self, "serial", 0) + 1
        return f"{prefix}{self.serial}"

    def emit(self, line, made=None):
        """Adds a line if PyTorch can run it, or refuses it for a reason of autograd."""
        if self.smooth and any(kink in line for kink in (".relu", ".clamp", ".tanh_", ".sigmoid_")):
            return False
        try:
            exec(line, self.space)
        except RuntimeError as error:
            if is_of_autograd(str(error)) and self.random.random() < 0.05:
                self.lines.append(line)
                self.ended = True
            return False
        except Exception:
            return False
        touch(self.space)
        self.lines.append(line)
        if made and isinstance(self.space.get(made), torch.Tensor):
            self.names.append(made)
        return True

    def any(self, views=False):
        recent = self.names[-6:]
        return self.random.choice(recent if self.random.random() < 0.7 else self.names)

    def shape(self, name):
        return tuple(self.space[name].shape)

    def numbers(self, shape):
        count = math.prod(shape)
        flat = [round(self.random.uniform(-1.5, 1.5), 4) for _ in range(count)]
        for size in reversed(shape[1:]):
            flat = [flat[i:i + size] for i in range(0, len(flat), size)]
        return str(flat if shape else flat[0])

    def like(self, shape):
        """Something that broadcasts to a shape: a tensor of the program, or a number."""
        fitting = [n for n in self.names if self.shape(n) == shape or self.shape(n) == () or
                   (shape and self.shape(n) == shape[-1:])]
        if fitting and self.random.random() < 0.8:
            return self.random.choice(fitting)
        return str(round(self.random.uniform(-1.5, 1.5), 2))

    def view_of(self, x):
        shape, r = self.shape(x), self.random
        if not shape:
            return r.choice([f"{x}.unsqueeze(0)", f"{x}.view(1)", f"{x}.expand(2)", f"{x}.view(())", f"{x}[...]", f"{x}[()]", f"{x}.t()",
                             f"{x}[None]", f"{x}.reshape(-1)"])
        dim = r.randrange(len(shape))
        size = shape[dim]
        choices = [f"{x}.unsqueeze({dim})", f"{x}.view(-1)", f"{x}[...]", f"{x}[:]",
                   f"{x}.transpose(0, {dim})", f"{x}.squeeze()", f"{x}.view_as({x})", f"{x}.expand_as({x})",
                   f"{x}.movedim({dim}, 0)", f"{x}.swapaxes(-1, {dim})", f"{x}[None]"]
        if len(shape) == 1:
            choices += [f"{x}.t()", f"{x}.flatten()", f"{x}.unflatten(0, (1, -1))"]
        if size > 0:
            start = r.randrange(size)
            stop = r.randrange(start, size) + 1
            choices += [f"{x}.select({dim}, {start})", f"{x}.narrow({dim}, {start}, {stop - start})", f"{x}[{r.randrange(shape[0])}]",
                        f"{x}[..., {start if dim == len(shape) - 1 else 0}:]", f"{x}.unbind({dim})[{start}]",
                        f"{x}.split(1, {dim})[{start}]", f"{x}[{r.randrange(shape[0])}:]", f"{x}[::2]"] * 2
        if len(shape) == 2:
            choices += [f"{x}.t()", f"{x}.diagonal()", f"{x}[:, {r.randrange(shape[1])}]", f"{x}.T", f"{x}.permute(1, 0)",
                        f"{x}[{r.randrange(shape[0])}, {r.randrange(shape[1])}]"] * 2
        if math.prod(shape) == 6:
            choices += [f"{x}.view(2, 3)", f"{x}.view(3, 2)", f"{x}.view(6)"]
        return r.choice(choices)

    def reshape_of(self, x):
        """Changes of shape in place."""
        shape, r = self.shape(x), self.random
        dim = r.randrange(len(shape) + 1)
        choices = [f"{x}.unsqueeze_({dim})", f"{x}.unsqueeze_(-1)", f"{x}.squeeze_()"]
        if shape:
            other = r.randrange(len(shape))
            choices += [f"{x}.squeeze_({other})", f"{x}.transpose_({other}, -1)", f"{x}.swapaxes_(0, {other})", f"{x}.swapdims_({other}, 0)"]
        if len(shape) <= 2:
            choices += [f"{x}.t_()"] * 2
        return r.choice(choices)

    def op_of(self, x):
        shape, r = self.shape(x), self.random
        y = self.like(shape)
        choices = [f"{x} * {y}", f"{x} + {y}", f"{x} - {y}", f"{y} * {x}", f"{x}.sin()", f"{x}.tanh()", f"{x}.sigmoid()", f"{x} * {x}",
                   f"{x}.clone()", f"{x}.sum()", f"{x}.relu()", f"t.where({x} > 0, {x}, {y})", f"{x}.square()", f"{x}.cos()",
                   f"{x} * 2.0", f"{x}.mean()", f"{x} / ({x}.abs() + 1)", f"-{x}", f"{x}[{x} > 0].sum()", f"{x}.masked_fill({x} < 0, 0.5)"]
        if shape:
            dim = r.randrange(len(shape))
            choices += [f"{x}.sum({dim})", f"t.cat([{x}, {x}], {dim})", f"t.stack([{x}, {x} * 2])[1]", f"{x}.cumsum({dim})"]
            if shape[dim] > 0:  # values of functions that give places, too
                choices += [f"{x}.max({dim})[0]", f"{x}.min({dim}, keepdim=True).values", f"{x}.topk(1, {dim})[0]"]
        if len(shape) == 2:
            choices += [f"{x} @ {x}.t()", f"{x}.t().clone()"]
        return r.choice(choices)

    def write_to(self, x):
        shape, r = self.shape(x), self.random
        y = self.like(shape)
        if y in self.names and y != x and shares_memory(self.space[x], self.space[y]):
            y = f"{y}.clone()"  # PyTorch's copy_ reads what it has written already
        choices = [f"{x}.mul_({y})", f"{x}.add_({y})", f"{x}.sub_({y})", f"{x} *= {y}", f"{x} += {y}", f"{x}.sin_()", f"{x}.tanh_()",
                   f"{x}.mul_({x})", f"{x}.fill_({round(r.uniform(-1, 1), 2)})", f"{x}.zero_()", f"{x}.sigmoid_()", f"{x}.square_()",
                   f"{x}.masked_fill_({x} > 0, {round(r.uniform(-1, 1), 2)})", f"{x}.relu_()", f"{x}.clamp_(-0.7, 0.9)", f"{x}.neg_()",
                   f"{x}[{x} > 0] = {round(r.uniform(-1, 1), 2)}", f"{x}.cos_()", f"{x}.add_({y}, alpha=0.5)"]
        choices += [f"{x}.div_(2)", f"{x}.pow_(2)", f"{x}.exp_().clamp_(max=2)", f"{x}.masked_fill_({x} > 0, t.as_tensor({y}).sum())"]
        if y[0].isalpha():
            choices += [f"{x}.addcmul_({y}, {y})", f"{x}.lerp_({y}, 0.25)", f"{x}.masked_scatter_({x} > 0, {y}.expand({x}.shape).clone())",
                        f"{x}[{x} > 0] = ({y}.expand({x}.shape) * 2)[{x} > 0]"]
            choices += [f"{x}.copy_({y})"] * 4
            choices += [f"{x}[...] = {y}"] * 2
        if shape and shape[0] > 0:
            at = r.randrange(shape[0])
            part = self.like(shape[1:])
            if part in self.names and shares_memory(self.space[x], self.space[part]):
                part += ".clone()"
            choices += [f"{x}[{at}] = {part}", f"{x}[{at}] *= {part}", f"{x}[{at}:] = {part}", f"{x}[{at}] += {part}",
                        f"{x}[{at}].copy_(t.as_tensor({part}))", f"{x}[[{at}]] = {part}", f"{x}[:{at + 1}].mul_({part})",
                        f"{x}.index_fill_(0, t.tensor([{at}]), 0.5)"] * 2
            rows = f"t.as_tensor({part}, dtype=t.float64).expand({x}[:1].shape)"
            choices += [f"{x}.index_add_(0, t.tensor([{at}]), {rows})", f"{x}.index_copy_(0, t.tensor([{at}]), {rows})",
                        f"{x}.index_put_((t.tensor([{at}]),), t.as_tensor({part}, dtype=t.float64))", f"{x}.cumsum_({len(shape) - 1})",
                        f"{x}.scatter_(0, t.zeros({x}[:1].shape, dtype=t.int64) + {at}, {rows})"]
        if len(shape) == 2 and shape[1] > 0:
            at = r.randrange(shape[1])
            column = self.like(shape[:1])
            if column in self.names and shares_memory(self.space[x], self.space[column]):
                column += ".clone()"
            choices += [f"{x}[:, {at}] = {column}", f"{x}.t()[{at}].mul_(0.5)", f"{x}[:, {at}:].mul_(0.5)",
                        f"{x}.view(-1)[{at}] = 0.3"]
        return r.choice(choices)

    def write(self):
        r = self.random
        self.ended = False
        for i in range(r.choice((1, 1, 2))):
            made = self.name("w")
            shape = r.choice(SHAPES[:6])
            self.emit(f"{made} = t.tensor({self.numbers(shape)}, dtype=t.float64, requires_grad=True)", made)
            self.leaves.append(made)
        if r.random() < 0.6:
            made = self.name("c")
            self.emit(f"{made} = t.tensor({self.numbers(r.choice(SHAPES[:6]))}, dtype=t.float64)", made)
        made = self.name("y")
        self.emit(f"{made} = {self.names[0]} * {round(r.uniform(0.5, 2), 2)}", made)
        for _ in range(self.count):
            if self.ended:
                return self.lines
            self.step()
        for _ in range(r.choice((1, 1, 1, 2))):
            if not self.ended:
                self.finish()
        return self.lines

    def step(self):
        r = self.random
        x = self.any()
        kind = r.choices(("view", "op", "write", "hook", "retain", "no_grad", "detach", "backward", "grad", "read", "second", "leaf",
                          "remove", "shape"),
                         (24, 20, 30, 7, 5, 9, 3, 3, 4, 3, 3, 1, 1, 8))[0]
        if kind == "view":
            made = self.name("v")
            self.emit(f"{made} = {self.view_of(x)}", made)
        elif kind == "op":
            made = self.name("y")
            self.emit(f"{made} = {self.op_of(x)}", made)
        elif kind == "write":
            self.emit(self.write_to(x))
        elif kind == "hook":
            self.hook(x)
        elif kind == "retain":
            self.emit(f"touched({x}).retain_grad()")
        elif kind == "no_grad":
            if r.random() < 0.75:
                self.emit(f"with t.no_grad(): {self.write_to(x)}")
            else:
                made = self.name("n")
                self.emit(f"with t.no_grad(): {made} = ({self.op_of(x)}).clone()", made)  # PyTorch's views say that they require grad
        elif kind == "detach":
            made = self.name("d")
            self.emit(f"{made} = {x}.detach()" + r.choice(("", "", ".clone()")), made)
        elif kind == "backward":
            self.finish()
        elif kind == "grad":
            made = self.name("g")
            self.emit(f"{made} = t.autograd.grad({self.loss()}, {x}, retain_graph=True, allow_unused=True)[0].clone()", made)
        elif kind == "read":
            self.emit(f"{x}.tolist()")
        elif kind == "second" and self.smooth:
            made = self.name("g")
            # A copy: what PyTorch's rules give may be a view of something that no program knows.
            self.emit(f"{made} = t.autograd.grad({self.loss()}, {x}, create_graph=True, allow_unused=True)[0].clone()", made)
        elif kind == "leaf":
            self.emit(f"with t.no_grad(): {self.write_to(r.choice(self.leaves))}")
        elif kind == "shape":
            # What PyTorch does with hooks from before depends on those that come later, and retain_grad() ends in an assertion there.
            if not self.space[x].retains_grad and not self.space[x]._backward_hooks:
                self.emit(self.reshape_of(x))
        elif self.hooks:
            self.emit(f"hook{r.randrange(self.hooks) + 1}.remove()")

    def hook(self, x):
        self.hooks += 1
        does = self.random.choice(("None", "g * 2", "g + 1", "g * g", "-g"))
        if not self.emit(f"hook{self.hooks} = {x}.register_hook(lambda g: see({self.hooks}, g, {does}))"):
            self.hooks -= 1

    def loss(self):
        parts = self.random.sample(self.names, min(len(self.names), self.random.choice((1, 1, 2, 3))))
        return " + ".join(f"({p} * {p}).sum()" if self.random.random() < 0.5 else f"({p} * {round(self.random.uniform(-2, 2), 2)}).sum()"
                          for p in parts)

    def finish(self):
        r = self.random
        if self.smooth and r.random() < 0.3:
            self.emit(f"({self.loss()}).backward(create_graph=True)")
        else:
            self.emit(f"({self.loss()}).backward(retain_graph=True)")


def with_copies():
    return torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.detach().clone(), lambda saved: saved)


def is_of_autograd(text):
    return any(part in text for part in ("leaf Variable", "modified", "multiple views", "require", "backward", "grad", "single memory location"))


def shares_memory(x, y):
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


class Seen:
    """What hooks were given, hook by hook."""

    def __init__(self):
        self.calls = {}

    def __call__(self, number, gradient, result):
        self.calls.setdefault(number, []).append(gradient.detach().clone())  # or .grad, which later ones are added to
        return result


def touched(x):
    """PyTorch takes a view of what was written since for a leaf until somebody has asked what made it."""
    if isinstance(x, torch.Tensor) and not x.retains_grad:
        x.grad_fn  # noqa: B018
    return x


def touch(space):
    """All tensors are asked what made them: writes through such a view are refused, and hooks on it end PyTorch 2.11."""
    for value in list(space.values()):
        with contextlib.suppress(RuntimeError):  # a view that may not be used any more: what uses it says so
            touched(value)


def new_space(library):
    return {"t": library, "see": Seen(), "touched": touched}


def shown(value):
    return value.detach().tolist()


class Outcome:
    """What a program has left, or the line that was refused."""

    def __init__(self, library, lines, keeps_saved=False):
        self.error, self.at, self.values = None, None, {}
        block = with_copies() if keeps_saved else contextlib.nullcontext()
        with block:
            space = new_space(library)
            for i, line in enumerate(lines):
                try:
                    exec(line, space)
                    touch(space)
                except Exception as error:  # of either library
                    self.error, self.at = f"{type(error).__name__}: {error}", i
                    break
            self.look(space)

    def look(self, space):
        for name, value in space.items():
            if name == "t" or name.startswith(("__", "hook")) or not hasattr(value, "requires_grad"):
                continue
            try:
                self.values[name] = shown(value)
                self.values[name + ".requires_grad"] = value.requires_grad
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    gradient = value.grad
                self.values[name + ".grad"] = None if gradient is None else shown(gradient)
            except Exception as error:
                self.values[name] = f"{type(error).__name__}: {error}"
        for number, calls in space["see"].calls.items():
            # PyTorch also calls hooks with the zeros of a second derivative that is 0 everywhere.
            self.values[f"what hook {number} saw"] = [shown(call) for call in calls if (call != 0).any().item()]


def are_close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(are_close(x, y) for x, y in zip(a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))
    return a == b


def difference(lines):
    """Where the two differ: a text, or None. The second result counts what was refused."""
    expected = Outcome(torch, lines)
    got = Outcome(tenon, lines)
    note = ""
    if expected.error and any(part in expected.error for part in NOT_COMPARED):
        return None, "not compared"
    if expected.error and "a leaf Variable" in expected.error and not re.search(r"\bw\d", lines[expected.at]):
        return None, "not compared"  # PyTorch takes a view for a leaf until somebody has asked what made it
    if expected.error and any(part in expected.error for part in KNOWN_THERE):
        if got.error and got.at <= expected.at and any(part in got.error for part in REFUSALS):
            return None, "refused here"
        expected = Outcome(torch, [by_single_views(line) for line in lines], keeps_saved=True)
        note = "runs here alone"
        if expected.error and any(part in expected.error for part in KNOWN_THERE + NOT_COMPARED):
            return None, "not compared"
    if got.error and any(part in got.error for part in REFUSALS) and (not expected.error or got.at <= expected.at):
        return None, "refused here"
    if got.error and not expected.error and "depend on any that requires grad" in got.error and adds_zeros(lines, got.at):
        return None, "gradient of 0 refused"
    if bool(expected.error) != bool(got.error):
        return f"PyTorch: {expected.error or 'runs'}\n  Tenon: {got.error or 'runs'}", ""
    if expected.error and expected.at != got.at:
        return f"PyTorch: line {expected.at + 1}: {expected.error}\n  Tenon: line {got.at + 1}: {got.error}", ""
    if expected.error and "NameError" in expected.error:
        return None, "no program"
    of_gradients = made_of_gradients(lines)
    for name in sorted(set(expected.values) | set(got.values)):
        a, b = expected.values.get(name, "absent"), got.values.get(name, "absent")
        if name.endswith(".requires_grad") and name.split(".")[0] in of_gradients:
            continue  # where a derivative is 0 everywhere, either may say so and the other not
        if not are_close(a, b):
            return f"{name}: PyTorch {a}, Tenon {b}", ""
    return None, "refused by both" if expected.error else note


def made_of_gradients(lines):
    """The names of gradients, and of what they may have gone into."""
    names = set()
    for line in lines:
        named = set(re.findall(r"\b[a-z]\d+\b", line))
        if named & names or any(one[0] == "g" for one in named):
            names |= {one for one in named if one[0] != "w"} if "=" in line or "_(" in line else set()
    return names


def adds_zeros(lines, at):
    """Whether all that a line adds to gradients in PyTorch are the zeros of a derivative that is 0 everywhere."""
    after, before = Outcome(torch, lines[:at + 1]), Outcome(torch, lines[:at])
    return not after.error and all(
        are_zeros(value) if before.values.get(name) is None else are_close(value, before.values[name])
        for name, value in after.values.items() if name.endswith(".grad") and value is not None)


def are_zeros(value):
    return all(map(are_zeros, value)) if isinstance(value, list) else value == 0


def by_single_views(line):
    """The same with views that PyTorch lets be written: one of several is none of them."""
    line = re.sub(r"\.unbind\((\d+)\)\[(\d+)\]", r".select(\1, \2)", line)
    return re.sub(r"\.split\(1, (\d+)\)\[(\d+)\]", r".narrow(\1, \2, 1)", line)


def shrunk(lines):
    """The fewest lines that differ still."""
    text = difference(lines)[0]
    changed = True
    while changed:
        changed = False
        for size in (4, 2, 1):
            i = len(lines)
            while i > 0:
                i -= 1
                shorter = lines[:i] + lines[i + size:]
                if len(shorter) == len(lines):
                    continue
                found = difference(shorter)[0]
                if found and "NameError" not in found:
                    lines, text, changed = shorter, found, True
                    i = min(i, len(lines))
    return lines, text


AT_ONCE = 5000  # programs of one process: their hooks make cycles that neither library collects, and caches fill


def in_processes(arguments):
    """Some programs after the others, each lot in a process of its own; the worst exit code of all."""
    status = 0
    for start in range(0, arguments.programs, AT_ONCE):
        changed = {"programs": min(AT_ONCE, arguments.programs - start), "seed": arguments.seed + start}
        options = [f"--{name}={changed.get(name, value)}" for name, value in vars(arguments).items() if name != "show"]
        print(f"from {changed['seed']} on: ", end="", flush=True)
        status |= subprocess.run([sys.executable, __file__, *options, *["--show"] * arguments.show]).returncode
        if status:
            break
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first; program i has seed + i (0)")
    parser.add_argument("--lines", type=int, default=10, help="steps in a program (10)")
    parser.add_argument("--stop", type=int, default=10, help="end after so many differences (10)")
    parser.add_argument("--show", action="store_true", help="print every program")
    arguments = parser.parse_args()
    if arguments.programs > AT_ONCE:
        return in_processes(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    counts, found, began = {}, 0, time.time()
    for seed in range(arguments.seed, arguments.seed + arguments.programs):
        with with_copies():
            lines = Writer(seed, arguments.lines).write()
        if arguments.show:
            print(f"# {seed}", *lines, "", sep="\n", flush=True)
        text, note = difference(lines)
        if text:
            found += 1
            lines, text = shrunk(lines)
            print(f"# seed {seed}\n" + "\n".join(lines) + f"\n# {text}\n", flush=True)
            if found >= arguments.stop:
                break
        else:
            counts[note or "equal"] = counts.get(note or "equal", 0) + 1
    print(f"{found} differ; " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + f"; {time.time() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
