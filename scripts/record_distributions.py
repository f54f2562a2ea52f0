#!/usr/bin/env python3
"""Writes tests/golden/distributions.json and tests/golden/fft.json with PyTorch: record_distributions.py

Distributions: parameters and a value, and what they give in f64: log_prob and its gradients, entropy and its gradients, mean,
variance, KL divergences from a second set of parameters, and the implicit slopes of gamma draws. Transforms: operand, arguments,
result, and the gradient for a given one of the result; complex numbers are pairs.
"""

import json
import pathlib

import torch

D = torch.distributions
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"


def rounded(x):
    return x.detach().round(decimals=12).tolist()


def tensor(x):
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


# Kind, parameters, others for the divergence, a value.
DISTRIBUTIONS = [
    ("Normal", {"loc": [0.5, -2.0, 0.0], "scale": [1.0, 0.3, 7.0]}, {"loc": [0.1, 0.2, 0.3], "scale": [2.0, 0.5, 1.0]}, [[0.5, 1.0, -3.0]] * 2),
    ("Normal", {"loc": [[1.0], [2.0]], "scale": [0.5, 2.0]}, {"loc": [0.0, 0.0], "scale": [1.0, 1.0]}, [[0.1, 0.2], [0.3, 0.4]]),
    ("Uniform", {"low": [0.0, -1.0], "high": [1.0, 4.0]}, {"low": [-0.5, -1.0], "high": [2.0, 4.5]}, [0.25, 3.5]),
    ("Bernoulli", {"probs": [0.1, 0.5, 0.97]}, {"probs": [0.3, 0.2, 0.6]}, [1.0, 0.0, 1.0]),
    ("Bernoulli", {"logits": [-3.0, 0.0, 20.0]}, {"logits": [1.0, 0.5, 2.0]}, [1.0, 0.0, 1.0]),
    ("Categorical", {"probs": [[1.0, 2.0, 5.0], [0.2, 0.2, 0.6]]}, {"probs": [[3.0, 2.0, 1.0], [0.5, 0.25, 0.25]]}, [2, 0]),
    ("Categorical", {"logits": [0.3, -2.0, 1.5, 0.0]}, {"logits": [0.0, 0.1, 0.2, 0.3]}, [[0, 1], [2, 3]]),
    ("Gamma", {"concentration": [0.3, 1.0, 12.0], "rate": [1.0, 2.0, 0.5]}, {"concentration": [1.0, 2.0, 3.0], "rate": [2.0, 1.0, 1.0]}, [0.2, 1.5, 20.0]),
    ("Beta", {"concentration1": [0.5, 2.0, 30.0], "concentration0": [0.5, 3.0, 4.0]}, {"concentration1": [1.0, 1.0, 5.0], "concentration0": [2.0, 1.0, 0.7]}, [0.1, 0.6, 0.9]),
    ("Dirichlet", {"concentration": [[0.5, 1.0, 2.0], [10.0, 3.0, 0.2]]}, {"concentration": [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]]}, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),
]


def slopes(number, leaves):
    if not number.requires_grad:
        return {name: torch.zeros_like(leaf).tolist() for name, leaf in leaves.items()}
    found = torch.autograd.grad(number.sum(), list(leaves.values()), allow_unused=True, retain_graph=True)
    return {name: rounded(torch.zeros_like(leaf) if one is None else one) for (name, leaf), one in zip(leaves.items(), found)}


def of_distribution(kind, given, others, value):
    leaves = {name: tensor(one) for name, one in given.items()}
    p = getattr(D, kind)(**leaves)
    q = getattr(D, kind)(**{name: tensor(one) for name, one in others.items()})
    at = torch.tensor(value) if kind == "Categorical" else torch.tensor(value, dtype=torch.float64)
    made = {"kind": kind, "given": given, "others": others, "value": value}
    results = {"log_prob": p.log_prob(at), "entropy": p.entropy(), "kl": D.kl_divergence(p, q)}
    for name, result in results.items():
        made[name] = rounded(result)
        made[f"{name}_slopes"] = slopes(result, leaves)
    if kind != "Categorical":
        made["mean"], made["variance"] = rounded(p.mean), rounded(p.variance)
    return made


def gamma_slopes():
    a, x = torch.meshgrid(torch.tensor([0.05, 0.5, 1.0, 3.0, 7.9, 8.5, 20.0, 300.0], dtype=torch.float64),
                          torch.tensor([1e-3, 0.1, 0.5, 0.79, 0.93, 1.0, 1.3, 2.0], dtype=torch.float64), indexing="ij")
    x = torch.where(a > 1, a * x, x)
    return {"concentration": a.tolist(), "draw": x.tolist(), "slope": torch._standard_gamma_grad(a, x).tolist()}


def numbers(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * 0.7).sin().reshape(shape)


# Function, shape of the operand (complex but for rfft*), arguments.
TRANSFORMS = [
    (name, shape, {**arguments, "norm": norm})
    for norm in ("backward", "ortho", "forward")
    for names, cases in (
        (("fft", "ifft", "rfft", "irfft"), [((5,), {}), ((2, 6), {}), ((6, 2), {"dim": 0}), ((4, 3), {"n": 5}), ((2, 8), {"n": 3, "dim": 1}), ((3, 7), {"n": 12})]),
        (("fft2", "ifft2", "rfft2", "irfft2"), [((3, 4), {}), ((2, 4, 5), {"s": [5, 3]}), ((4, 2, 3), {"dim": [0, 2]})]),
        (("fftn", "ifftn", "rfftn", "irfftn"), [((2, 3, 4), {}), ((2, 3, 5), {"s": [4, 6]}), ((3, 4, 2), {"dim": [1, 0]})]),
    )
    for name in names
    for shape, arguments in cases
]


def of_transform(name, shape, arguments):
    pairs = numbers(*shape) if name.startswith("rfft") else numbers(*shape, 2)
    leaf = pairs.clone().requires_grad_()
    result = getattr(torch.fft, name)(leaf if name.startswith("rfft") else torch.view_as_complex(leaf), **arguments)
    shown = torch.view_as_real(result) if result.is_complex() else result
    slope = torch.autograd.grad((shown * numbers(*shown.shape)).sum(), leaf)[0]
    return {"name": name, "shape": list(pairs.shape), "arguments": arguments, "result": rounded(shown), "slope": rounded(slope)}


def write(name, content):
    (FOLDER / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")


write("distributions.json", {"cases": [of_distribution(*one) for one in DISTRIBUTIONS], "gamma": gamma_slopes()})
write("fft.json", [of_transform(*one) for one in TRANSFORMS])
