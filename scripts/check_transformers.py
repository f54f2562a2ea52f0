#!/usr/bin/env python3
"""Checks that Hugging Face's transformers reads a model that Tenon has saved.

    golden_test --dir GOLDEN --device cpu --save FOLDER    # writes the model and logits.safetensors beside it
    check_transformers.py FOLDER [--tolerance 1e-4]

Loads FOLDER with transformers, computes the logits of the ids saved there, and compares: the largest difference may be
the tolerance times the largest logit. A parameter that the file lacks, or one too many, is an error.
"""

import argparse
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    arguments = parser.parse_args()

    model, report = AutoModelForCausalLM.from_pretrained(
        arguments.folder, dtype=torch.float32, output_loading_info=True, local_files_only=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if names := report.get(kind):
            print(f"FAIL {kind}: {', '.join(map(str, names))}")
            return 1

    saved = load_file(arguments.folder / "logits.safetensors")
    with torch.no_grad():
        logits = model.eval()(saved["ids"]).logits
    logits = logits[..., : saved["logits"].shape[-1]]  # a file may hold the first columns only
    if logits.shape != saved["logits"].shape:
        print(f"FAIL shape {tuple(saved['logits'].shape)}, transformers has {tuple(logits.shape)}")
        return 1
    error = (logits - saved["logits"]).abs().max().item()
    allowed = arguments.tolerance * logits.abs().max().item()
    print(f"{'ok  ' if error <= allowed else 'FAIL'} {type(model).__name__}: error {error:.2e}, allowed {allowed:.2e}")
    return 0 if error <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
