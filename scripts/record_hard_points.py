#!/usr/bin/env python3
"""Records PyTorch's values, first and second derivatives at the points where functions are hard to get right.

    python3 scripts/record_hard_points.py [tests/golden/hard_points.json]

Run by hand, with PyTorch 2 on the CPU, when a function or a point is added; tests/ops/hard_points_test.cpp reads the
file and knows every function by the name it has here. Hard points are kinks, ties, zeros of both signs, infinities,
NaN, and arguments at which a function has saturated or has nearly underflowed.

A case holds its inputs, and for f32 and f64 the value, the derivatives by each input and the second derivatives by each
pair of inputs; for f16 and bf16 the value alone. There are two kinds of cases:

  points   elementwise functions: one column an argument. A second derivative is that of the sum of first ones.
  row      functions of a whole row. With weights w = 1, 1.25, 1.5, ... and v = 1, 0.5, 0, -0.5, ..., the gradient is that
           of sum(w * value), the second derivative that of sum(v * gradient).

PyTorch computes the elements of a vector and those left over at its end with different code. Every point is asked for
both ways; where the two answers differ there is no PyTorch's answer, and null stands for it.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F

inf, nan = math.inf, math.nan
DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}

PLAIN = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, inf, -inf, nan]
SMALL = [1e-30, -1e-30, 1e-4, -1e-4]
TAILS = [-3, 3, -5, 5, -9, 9, -13, 13, -20, 20, -30, 30, -50, 50, -88, 88, -100, 100, -120, 120, -700, 700, -1000, 1000]
HALVES = [1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 3.7, -3.7, 8388609, -8388609, 1e20, -1e20]

# name: (function, points)
UNARY = {
    "neg": (torch.neg, PLAIN),
    "abs": (torch.abs, PLAIN),
    "sign": (torch.sign, PLAIN),
    "sqrt": (torch.sqrt, PLAIN + SMALL + [4, 1e30]),
    "rsqrt": (torch.rsqrt, PLAIN + SMALL + [4, 1e30]),
    "square": (torch.square, PLAIN + SMALL + [1e30]),
    "reciprocal": (torch.reciprocal, PLAIN + SMALL + [1e30]),
    "exp": (torch.exp, PLAIN + SMALL + TAILS),
    "exp2": (torch.exp2, PLAIN + SMALL + TAILS),
    "expm1": (torch.expm1, PLAIN + SMALL + TAILS),
    "log": (torch.log, PLAIN + SMALL + [1e30]),
    "log2": (torch.log2, PLAIN + SMALL + [8, 1e30]),
    "log10": (torch.log10, PLAIN + SMALL + [10, 1000, 1e30]),
    "log1p": (torch.log1p, PLAIN + SMALL + [1e30]),
    "sin": (torch.sin, PLAIN + SMALL),
    "cos": (torch.cos, PLAIN + SMALL),
    "tan": (torch.tan, PLAIN + SMALL),
    "tanh": (torch.tanh, PLAIN + SMALL + TAILS),
    "sinh": (torch.sinh, PLAIN + SMALL + TAILS + [19.5, 20.5, 89, -89]),
    "cosh": (torch.cosh, PLAIN + SMALL + TAILS + [89, -89]),
    "erf": (torch.erf, PLAIN + SMALL + TAILS),
    "sigmoid": (torch.sigmoid, PLAIN + SMALL + TAILS),
    "floor": (torch.floor, PLAIN + HALVES),
    "ceil": (torch.ceil, PLAIN + HALVES),
    "round": (torch.round, PLAIN + HALVES),
    "trunc": (torch.trunc, PLAIN + HALVES),
    "nan_to_num": (torch.nan_to_num, PLAIN),
    "clamp": (lambda x: torch.clamp(x, -1, 2), PLAIN + [3, -3]),
    "clamp_min": (lambda x: torch.clamp(x, min=0), PLAIN),
    "clamp_max": (lambda x: torch.clamp(x, max=0), PLAIN),
    "clamp_empty": (lambda x: torch.clamp(x, 2, 1), PLAIN + [1.5]),
    "clamp_nan": (lambda x: torch.clamp(x, nan, 1), PLAIN),
    "acosh": (torch.acosh, PLAIN + [1.5, 3, 100, 1e10, 1e30, -1.5, -3, -100, -1e10, -1e30]),
    "relu": (torch.relu, PLAIN),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.125), PLAIN),
    "elu": (lambda x: F.elu(x, 1.5), PLAIN + SMALL + TAILS),
    "softplus": (F.softplus, PLAIN + SMALL + TAILS + [20.5]),
    "softplus_steep": (lambda x: F.softplus(x, beta=4, threshold=8), PLAIN + TAILS + [2.25]),
    "silu": (F.silu, PLAIN + SMALL + TAILS),
    "mish": (F.mish, PLAIN + SMALL + TAILS),
    "hardswish": (F.hardswish, PLAIN + [3, -3, 2.9375, -2.9375, 100, -100]),
    "gelu": (F.gelu, PLAIN + SMALL + TAILS + [-7, -14, -38]),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), PLAIN + SMALL + TAILS + [-4, -7, 1e10, -1e10]),
    "pow_0": (lambda x: x**0, PLAIN + SMALL),
    "pow_half": (lambda x: x**0.5, PLAIN + SMALL),
    "pow_1": (lambda x: x**1, PLAIN),
    "pow_1.5": (lambda x: x**1.5, PLAIN + SMALL),
    "pow_2": (lambda x: x**2, PLAIN + SMALL),
    "pow_3": (lambda x: x**3, PLAIN + SMALL),
    "pow_4": (lambda x: x**4, PLAIN),
    "pow_-1": (lambda x: x**-1, PLAIN + SMALL),
    "pow_-2": (lambda x: x**-2, PLAIN + SMALL),
    "pow_-half": (lambda x: x**-0.5, PLAIN + SMALL),
    "0_pow": (lambda x: torch.pow(0.0, x), PLAIN),
    "1_pow": (lambda x: torch.pow(1.0, x), PLAIN),
    "2_pow": (lambda x: torch.pow(2.0, x), PLAIN),
}

CORNERS = [(a, b) for a in (0.0, -0.0, 1, -2, inf, -inf, nan) for b in (0.0, -0.0, 1, -2, inf, -inf, nan)]
WHOLE = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (6, -3), (1, 0.1), (-1, 0.1), (0.5, 2), (-0.5, 2), (0.5, -2),
         (1e20, 3), (1e-30, 5), (-1e-30, 5), (5, 5), (-5, 5), (16777215, 16777216)]
POWERS = [(2, 0.5), (-2, 3), (-2, 2), (-2, 0.5), (0, 0.5), (0, 2), (0, 3), (-0.0, 3), (0, -1), (-0.0, -1), (0, -2), (3, 0), (-3, 0)]
CHANCES = [(p, t) for p in (0.0, 1.0, 0.5, 0.25, 1e-30, 1e-13, 0.99999994) for t in (0.0, 1.0, 0.25)]
LOGITS = [(x, t) for x in (0.0, -0.0, 1, -2, 1e-4, 20, -20, 100, -100, 1000, -1000, inf, -inf, nan) for t in (0.0, 1.0, 0.25)]
NEAR = [(0.0, 0.0), (-0.0, 0.0), (1, 1), (2, 1), (1, 2), (1.5, 1), (1, 1.5), (-2, 2), (3, 3), (inf, 1), (1, inf), (inf, inf),
        (-inf, inf), (nan, 1), (1, nan), (1e-30, 0)]

# name: (function, pairs)
BINARY = {
    "mul": (torch.mul, CORNERS),
    "div": (torch.div, CORNERS + WHOLE),
    "floor_divide": (lambda a, b: torch.div(a, b, rounding_mode="floor"), CORNERS + WHOLE),
    "remainder": (torch.remainder, CORNERS + WHOLE),
    "fmod": (torch.fmod, CORNERS + WHOLE),
    "pow": (torch.pow, CORNERS + POWERS),
    "maximum": (torch.maximum, CORNERS),
    "minimum": (torch.minimum, CORNERS),
    "where_less": (lambda a, b: torch.where(a < b, a * a, b), NEAR),
    "mse_loss": (lambda a, b: F.mse_loss(a, b, reduction="none"), NEAR),
    "l1_loss": (lambda a, b: F.l1_loss(a, b, reduction="none"), NEAR),
    "huber_loss": (lambda a, b: F.huber_loss(a, b, reduction="none"), NEAR),
    "huber_loss_half": (lambda a, b: F.huber_loss(a, b, reduction="none", delta=0.5), NEAR),
    "smooth_l1_loss": (lambda a, b: F.smooth_l1_loss(a, b, reduction="none"), NEAR),
    "smooth_l1_loss_half": (lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=0.5), NEAR),
    "smooth_l1_loss_0": (lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=0), NEAR),
    "binary_cross_entropy": (lambda p, t: F.binary_cross_entropy(p, t, reduction="none"), CHANCES),
    "binary_cross_entropy_with_logits": (
        lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"), LOGITS),
    "kl_div": (lambda x, t: F.kl_div(x, t, reduction="none"),
               [(a, b) for a in (0.0, -1, -100, -inf, nan) for b in (0.0, 1, 0.25)]),
    "kl_div_log": (lambda x, t: F.kl_div(x, t, reduction="none", log_target=True),
                   [(a, b) for a in (0.0, -1, -100, -inf) for b in (0.0, -1, -100, -inf)]),
}

BOUNDED = [(x, low, high) for x in (0.0, 1, 2, 3, inf, -inf, nan) for low in (1, 2, nan) for high in (1, 2, nan)]

# name: (function, triples)
TERNARY = {
    "clamp_tensors": (torch.clamp, BOUNDED),
}

ROWS = [[1, 2, 3], [3, 1, 3, 2], [2, 2], [5], [0.0, 0.0, 0.0], [0.0, 2, 3], [2, 0.0, 0.0, 3], [-1, 1, -0.0, 0.0],
        [1, inf, 2], [1, -inf, 2], [inf, -inf], [inf, inf], [-inf, -inf, -inf], [1, nan, 2], [-3, 4], [1e30, 1e-30],
        [1000, -1000, 999], [1e-30, 1e-30]]


def class_loss(row):
    return F.cross_entropy(row[None], torch.zeros(1, dtype=torch.int64), reduction="none")


# name: (function, rows)
ROW = {
    "sum": (lambda x: x.sum()[None], ROWS),
    "mean": (lambda x: x.mean()[None], ROWS),
    "prod": (lambda x: x.prod()[None], ROWS),
    "amax": (lambda x: x.amax()[None], ROWS),
    "amin": (lambda x: x.amin()[None], ROWS),
    "max": (lambda x: x.max(dim=0).values[None], ROWS),
    "min": (lambda x: x.min(dim=0).values[None], ROWS),
    "max_of_all": (lambda x: x.max()[None], ROWS),
    "min_of_all": (lambda x: x.min()[None], ROWS),
    "var": (lambda x: x.var()[None], ROWS),
    "var_0": (lambda x: x.var(correction=0)[None], ROWS),
    "std": (lambda x: x.std()[None], ROWS),
    "std_0": (lambda x: x.std(correction=0)[None], ROWS),
    "norm_-1": (lambda x: torch.linalg.vector_norm(x, -1)[None], ROWS),
    "norm_0": (lambda x: torch.linalg.vector_norm(x, 0)[None], ROWS),
    "norm_half": (lambda x: torch.linalg.vector_norm(x, 0.5)[None], ROWS),
    "norm_1": (lambda x: torch.linalg.vector_norm(x, 1)[None], ROWS),
    "norm_1.5": (lambda x: torch.linalg.vector_norm(x, 1.5)[None], ROWS),
    "norm_2": (lambda x: torch.linalg.vector_norm(x, 2)[None], ROWS),
    "norm_3": (lambda x: torch.linalg.vector_norm(x, 3)[None], ROWS),
    "norm_inf": (lambda x: torch.linalg.vector_norm(x, inf)[None], ROWS),
    "norm_-inf": (lambda x: torch.linalg.vector_norm(x, -inf)[None], ROWS),
    "logsumexp": (lambda x: torch.logsumexp(x, 0)[None], ROWS),
    "softmax": (lambda x: torch.softmax(x, 0), ROWS),
    "log_softmax": (lambda x: torch.log_softmax(x, 0), ROWS),
    "cumsum": (lambda x: torch.cumsum(x, 0), ROWS),
    "cumprod": (lambda x: torch.cumprod(x, 0), ROWS),
    "sort": (lambda x: torch.sort(x, stable=True, dim=0).values, ROWS),
    "cross_entropy": (class_loss, ROWS),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape), ROWS),
    "rms_norm": (lambda x: F.rms_norm(x, x.shape, eps=1e-6), ROWS),
}

COPIES = 64  # more than the longest vector holds


def derivative(outputs, inputs, seed=None):
    """The gradients by all inputs; zeros where an input does not take part."""
    if not outputs.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    seed = torch.ones_like(outputs) if seed is None else seed
    found = torch.autograd.grad(outputs, inputs, seed, create_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None or g._is_zerotensor() else g for g, x in zip(found, inputs)]


def at_points(function, columns, dtype, deep):
    inputs = [torch.tensor(c, dtype=dtype, requires_grad=deep) for c in columns]
    value = function(*inputs)
    if not deep:
        return {"value": value}
    result = {"value": value}
    for i, g in enumerate(derivative(value, inputs)):
        result[f"d{i}"] = g
        second = derivative(g, inputs)
        for j in range(i, len(inputs)):
            result[f"d{i}{j}"] = second[j]
    return result


def points_case(name, function, points):
    columns = [list(c) for c in zip(*points)]
    case = {"name": name, "kind": "points", "in": [numbers(torch.tensor(c), "f64") for c in columns]}
    columns = [torch.tensor(c, dtype=torch.float32).tolist() for c in columns]
    for dtype_name, dtype in DTYPES.items():
        deep = dtype_name in ("f32", "f64")
        parts = {}
        for place in range(len(points)):
            one = [[c[place]] for c in columns]
            many = [[c[place]] * COPIES for c in columns]
            alone = at_points(function, one, dtype, deep)
            among = at_points(function, many, dtype, deep)
            for key in alone:
                a, b = alone[key][0].item(), among[key][0].item()
                parts.setdefault(key, []).append(b if agree(a, b, dtype) else None)
                if not agree(a, b, dtype):
                    print(f"{name} {dtype_name} {key} at {[c[place] for c in columns]}: {a} alone, {b} among many")
        case[dtype_name] = {k: listed(v, dtype_name) for k, v in parts.items() if k == "value" or not all(x == 0 for x in v)}
    return case


def agree(a, b, dtype):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if a == b:
        return math.copysign(1, a) == math.copysign(1, b)
    return abs(a - b) <= 1e3 * torch.finfo(dtype).eps * abs(b)


def row_case(name, function, rows):
    case = {"name": name, "kind": "row", "in": [numbers(torch.tensor(r, dtype=torch.float32), "f64") for r in rows]}
    for dtype_name, dtype in DTYPES.items():
        deep = dtype_name in ("f32", "f64")
        answers = []
        for row in rows:
            x = torch.tensor(row, dtype=torch.float32).to(dtype).requires_grad_(deep)
            value = function(x)
            answer = {"value": numbers(value, dtype_name)}
            if deep:
                w = 1 + torch.arange(value.numel(), dtype=dtype) / 4
                (g,) = derivative(value, [x], w)
                v = 1 - torch.arange(x.numel(), dtype=dtype) / 2
                (s,) = derivative(g, [x], v)
                answer |= {"d0": numbers(g, dtype_name), "d00": numbers(s, dtype_name)}
            answers.append(answer)
        case[dtype_name] = {k: [a[k] for a in answers] for k in answers[0]}
    return case


DIGITS = {"f32": 9, "f64": 17, "f16": 5, "bf16": 4}


def listed(values, dtype_name):
    return [None if v is None else number(v, dtype_name) for v in values]


def numbers(tensor, dtype_name):
    return [number(v, dtype_name) for v in tensor.detach().flatten().tolist()]


def number(value, dtype_name):
    """JSON has no NaN and no infinity: they are written as texts."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6 and value != 0:
        return int(value)
    return -0.0 if value == 0 and math.copysign(1, value) < 0 else 0 if value == 0 else float(f"%.{DIGITS[dtype_name]}g" % value)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/hard_points.json"
    cases = [points_case(n, f, [(x,) for x in p]) for n, (f, p) in UNARY.items()]
    cases += [points_case(n, f, p) for n, (f, p) in BINARY.items()]
    cases += [points_case(n, f, p) for n, (f, p) in TERNARY.items()]
    cases += [row_case(n, f, r) for n, (f, r) in ROW.items()]
    lines = ",\n".join(json.dumps(c, separators=(",", ":"), allow_nan=False) for c in cases)
    with open(path, "w") as out:
        out.write(f'{{"torch":"{torch.__version__}","cases":[\n{lines}\n]}}\n')
    print(f"{len(cases)} cases in {path}")


if __name__ == "__main__":
    main()
