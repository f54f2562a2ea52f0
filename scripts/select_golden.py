#!/usr/bin/env python3
"""Copies the golden cases whose op Tenon supports: select_golden.py GOLDEN_FOLDER

Reads ops.json and ops.safetensors of the given folder and writes tests/golden/ops.json and tests/golden/ops.safetensors
with the cases of the ops below and the tensors they name. An op that becomes supported is added to SUPPORTED and the
script run again; cases of other ops are counted aloud, so that none is forgotten in silence.
"""

import argparse
import json
import struct
import sys
from collections import Counter
from pathlib import Path

SUPPORTED = """
    add sub mul div maximum minimum pow where masked_fill clamp
    exp log sqrt rsqrt reciprocal neg abs square sin cos tanh erf sigmoid
    relu leaky_relu elu softplus silu mish hardswish gelu
    sum mean prod amax amin var std norm argmax argmin logsumexp softmax log_softmax cumsum sort topk
    reshape permute expand slice flip pad cat stack split repeat roll tril triu
    gather index_select scatter_add one_hot embedding
    matmul einsum linear layer_norm rms_norm attention attention_mask
    cross_entropy nll_loss mse_loss l1_loss huber_loss smooth_l1_loss bce bce_with_logits kl_div
    conv1d conv2d conv_transpose2d max_pool2d avg_pool2d adaptive_avg_pool2d
    batch_norm_train batch_norm_eval group_norm rnn lstm gru
    optimizer
""".split()

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden"


def read_safetensors(path):
    """The header's entries and the bytes behind it."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    return json.loads(content[8 : 8 + length]), memoryview(content)[8 + length :]


def write_safetensors(path, entries, data, names):
    """Writes the named tensors in the order they have in the source."""
    header, chunks, offset = {}, [], 0
    for name in sorted(names, key=lambda name: entries[name]["data_offsets"]):
        begin, end = entries[name]["data_offsets"]
        header[name] = {**entries[name], "data_offsets": [offset, offset + end - begin]}
        chunks.append(data[begin:end])
        offset += end - begin
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def tensors_of(case):
    return case["inputs"] + case["outputs"] + case["grad_outputs"] + case["grad_inputs"]


def main():
    parser = argparse.ArgumentParser(description="Copy the golden cases whose op Tenon supports into tests/golden.")
    parser.add_argument("folder", type=Path, help="a folder with ops.json and ops.safetensors")
    args = parser.parse_args()
    try:
        cases = json.loads((args.folder / "ops.json").read_text())
        entries, data = read_safetensors(args.folder / "ops.safetensors")
    except OSError as error:
        print(f"select_golden.py: {error}", file=sys.stderr)
        return 1

    chosen = [case for case in cases if case["op"] in SUPPORTED]
    names = {name for case in chosen for name in tensors_of(case)}
    TARGET.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(case) for case in chosen)
    (TARGET / "ops.json").write_text(f"[\n{lines}\n]\n")
    write_safetensors(TARGET / "ops.safetensors", entries, data, names)

    left_out = Counter(case["op"] for case in cases if case["op"] not in SUPPORTED)
    print(f"{len(chosen)} of {len(cases)} cases copied, {len(names)} tensors")
    print("left out:", ", ".join(f"{op} ({count})" for op, count in sorted(left_out.items())) or "none")
    unmet = sorted(set(SUPPORTED) - {case["op"] for case in chosen})
    if unmet:
        print("supported, but without a case:", ", ".join(unmet))
    return 0


if __name__ == "__main__":
    sys.exit(main())
