#!/usr/bin/env python3
"""Records PyTorch's results and gradients of volumes (and of conv_transpose1d): record_volumes.py [FOLDER]

Writes ops.json and ops.safetensors as tests/golden/README.md describes them, into tests/golden/volumes unless another
folder is given. Inputs are f32 values, truth is computed in f64 and stored as f32. Numbers come from a fixed seed, so that a
second run writes the same files.
"""

import json
import struct
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "volumes"
KINDS = {torch.float32: "F32", torch.int64: "I64"}


def batch_norm_train(x, weight, bias, **attrs):
    mean, variance = torch.zeros(x.shape[1], dtype=x.dtype), torch.ones(x.shape[1], dtype=x.dtype)
    y = F.batch_norm(x, mean, variance, weight, bias, True, attrs.get("momentum", 0.1), attrs.get("eps", 1e-5))
    return y, mean, variance


def batch_norm_eval(x, mean, variance, weight, bias, **attrs):
    return F.batch_norm(x, mean, variance, weight, bias, False, 0.1, attrs.get("eps", 1e-5))


def pooled(function):
    def run(x, **attrs):
        return function(x, attrs.pop("kernel"), **attrs)
    return run


OPS = {"conv3d": F.conv3d, "conv_transpose1d": F.conv_transpose1d, "conv_transpose3d": F.conv_transpose3d,
       "max_pool3d": pooled(F.max_pool3d), "avg_pool3d": pooled(F.avg_pool3d), "batch_norm_train": batch_norm_train,
       "batch_norm_eval": batch_norm_eval}

# The op, the shapes of its inputs, its attributes. A fourth entry says which inputs are plain (no gradient), or positive.
CASES = [
    ("conv3d", [(2, 3, 5, 6, 4), (4, 3, 3, 3, 3), (4,)], {"padding": 1}),
    ("conv3d", [(2, 3, 6, 5, 7), (4, 3, 2, 3, 3)], {"stride": 2}),
    ("conv3d", [(1, 4, 6, 7, 5), (6, 2, 2, 3, 1), (6,)], {"stride": [2, 1, 2], "padding": [1, 2, 0],
                                                          "dilation": [2, 1, 1], "groups": 2}),
    ("conv3d", [(2, 4, 3, 4, 5), (4, 1, 3, 3, 3), (4,)], {"padding": [2, 1, 1], "groups": 4, "dilation": [2, 1, 1]}),
    ("conv3d", [(2, 3, 4, 3, 3), (5, 3, 1, 1, 1), (5,)], {}),
    ("conv3d", [(1, 2, 7, 3, 3), (2, 2, 3, 2, 2)], {"stride": [3, 1, 1], "padding": [1, 0, 0]}),
    ("conv_transpose1d", [(2, 3, 5), (3, 4, 3), (4,)], {"stride": 2, "padding": 1, "output_padding": 1}),
    ("conv_transpose1d", [(2, 4, 5), (4, 3, 3), (6,)], {"groups": 2, "dilation": 2}),
    ("conv_transpose3d", [(2, 3, 3, 4, 3), (3, 4, 3, 3, 3), (4,)], {"stride": 2, "padding": 1, "output_padding": 1}),
    ("conv_transpose3d", [(1, 4, 3, 3, 4), (4, 2, 2, 3, 2), (4,)], {"groups": 2, "dilation": [2, 1, 3]}),
    ("conv_transpose3d", [(2, 2, 2, 3, 3), (2, 3, 2, 2, 3)], {"stride": [3, 2, 1], "padding": [0, 1, 1],
                                                             "output_padding": [2, 0, 0]}),
    ("max_pool3d", [(1, 2, 4, 4, 6)], {"kernel": 2}),
    ("max_pool3d", [(1, 2, 5, 4, 5)], {"kernel": 3, "stride": 2, "padding": 1, "return_indices": True}),
    ("max_pool3d", [(1, 2, 5, 4, 5)], {"kernel": [2, 3, 2], "stride": [2, 1, 2], "ceil_mode": True,
                                       "return_indices": True}),
    ("max_pool3d", [(2, 1, 5, 5, 4)], {"kernel": 2, "stride": 1, "dilation": [2, 3, 1], "return_indices": True}),
    ("avg_pool3d", [(2, 3, 4, 6, 4)], {"kernel": 2}),
    ("avg_pool3d", [(2, 2, 5, 6, 4)], {"kernel": 3, "stride": 2, "padding": 1}),
    ("avg_pool3d", [(2, 2, 5, 6, 4)], {"kernel": [3, 2, 3], "stride": 2, "padding": 1, "ceil_mode": True,
                                       "count_include_pad": False}),
    ("batch_norm_train", [(3, 4, 2, 3, 4), (4,), (4,)],
     {"inputs": ["x", "weight", "bias"], "outputs": ["y", "running_mean", "running_var"]}),
    ("batch_norm_eval", [(3, 4, 2, 3, 4), (4,), (4,), (4,), (4,)],
     {"inputs": ["x", "running_mean", "running_var", "weight", "bias"]}),
]


def inputs_of(op, shapes, generator):
    if op == "max_pool3d":  # numbers that bf16 holds too, no two of them alike: who is the largest does not depend on it
        count = torch.Size(shapes[0]).numel()
        return [(torch.randperm(count, generator=generator) - count // 2).reshape(shapes[0]).float() / 16]
    made = [torch.randn(shape, generator=generator) for shape in shapes]
    if op == "batch_norm_eval":
        made[2] = made[2].abs() + 0.5
    return made


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    generator = torch.Generator().manual_seed(20261118)
    tensors, cases, counts = {}, [], {}
    for op, shapes, attrs in CASES:
        number = counts[op] = counts.get(op, -1) + 1
        name = f"{op}_volume_{number}" if op.startswith("batch_norm") else f"{op}_{number}"
        given = inputs_of(op, shapes, generator)
        constants = (1, 2) if op == "batch_norm_eval" else ()
        wide = [x.double().requires_grad_(k not in constants) for k, x in enumerate(given)]
        settings = {key: value for key, value in attrs.items() if key not in ("inputs", "outputs")}
        results = OPS[op](*wide, **settings)
        results = results if isinstance(results, tuple) else (results,)
        case = {"name": name, "op": op, "attrs": attrs, "inputs": [], "outputs": [], "grad_outputs": [], "grad_inputs": []}

        def keep(kind, key, tensor):
            case[kind].append(f"{name}.{key}")
            tensor = tensor.detach()
            tensors[f"{name}.{key}"] = (tensor.float() if tensor.is_floating_point() else tensor).contiguous()

        for k, x in enumerate(given):
            keep("inputs", f"in{k}", x)
        for k, y in enumerate(results):
            keep("outputs", f"out{k}", y)
        gradient = torch.randn(results[0].shape, generator=generator)
        keep("grad_outputs", "gout0", gradient)
        learned = [k for k in range(len(wide)) if k not in constants]
        slopes = torch.autograd.grad(results[0], [wide[k] for k in learned], gradient.double())
        for k, slope in zip(learned, slopes):
            keep("grad_inputs", f"gin{k}", slope)
        cases.append(case)

    header, chunks, offset = {}, [], 0
    for key, tensor in tensors.items():
        data = bytes(tensor.view(-1).view(torch.uint8).tolist())
        header[key] = {"dtype": KINDS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    (folder / "ops.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    print(f"{len(cases)} cases, {len(tensors)} tensors, {offset} bytes, by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
