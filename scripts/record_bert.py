#!/usr/bin/env python3
"""Records what Hugging Face's transformers computes for tiny BERTs: record_bert.py [FOLDER] | --check FOLDER...

Writes, into tests/golden/bert unless another folder is given, a folder for each head (`masked_lm`, `classifier`) as transformers
saves it, and beside it NAME.safetensors: `ids`, `mask`, `types`, `targets`, `states`, `logits`, `loss`, `grad.PARAMETER`, the
gradients of the loss, and of the classifier `pooled`. All is computed in f64 from f32 values and stored as f32.

With --check, reads folders that Tenon has saved, with `logits.safetensors` (`ids`, `mask`, `types`, `logits`) in each, and compares.
Made with transformers 5.23.0 and torch 2.15.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, BertConfig, BertForMaskedLM, BertForSequenceClassification

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "bert"
KINDS = {"masked_lm": BertForMaskedLM, "classifier": BertForSequenceClassification}


def tiny():
    return BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                      max_position_embeddings=12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                      id2label={0: "bad", 1: "good", 2: "neither"}, label2id={"bad": 0, "good": 1, "neither": 2})


def batch(name):
    ids = torch.randint(5, 40, (3, 9))
    mask = torch.ones_like(ids)
    for row, length in enumerate((9, 4, 6)):
        ids[row, length:] = 0
        mask[row, length:] = 0
    types = torch.zeros_like(ids)
    types[:, 3:] = 1
    targets = torch.where(torch.rand(ids.shape) < 0.4, ids, -100) if name == "masked_lm" else torch.tensor([2, 0, 1])
    return ids, mask, types, torch.where(mask == 0, -100, targets) if name == "masked_lm" else targets


def record(folder, name):
    model = KINDS[name](tiny())
    with torch.no_grad():
        for parameter in model.parameters():  # initial values are too alike to show a mistake
            parameter.copy_(torch.randn_like(parameter) * (0.3 if parameter.dim() > 1 else 0.2) + (parameter if parameter.dim() == 1 else 0))
    model.save_pretrained(folder / name)
    model = model.double().eval()
    ids, mask, types, targets = batch(name)
    made = model(input_ids=ids, attention_mask=mask, token_type_ids=types, labels=targets, output_hidden_states=True)
    made.loss.backward()
    tensors = {"ids": ids, "mask": mask, "types": types, "targets": targets, "states": made.hidden_states[-1], "logits": made.logits,
               "loss": made.loss.reshape(1)}
    if name == "classifier":
        tensors["pooled"] = model.bert.pooler(made.hidden_states[-1])
    tensors |= {f"grad.{key}": parameter.grad for key, parameter in model.named_parameters()}
    save_file({key: (t.detach().float() if t.is_floating_point() else t).contiguous() for key, t in tensors.items()},
              folder / f"{name}.safetensors")


def check(folder):
    kind = AutoConfig.from_pretrained(folder).architectures[0]
    cls = next(one for one in KINDS.values() if one.__name__ == kind)
    model, report = cls.from_pretrained(folder, dtype=torch.float32, output_loading_info=True, local_files_only=True)
    wrong = [name for key in ("missing_keys", "unexpected_keys", "mismatched_keys") for name in map(str, report.get(key) or [])]
    saved = load_file(folder / "logits.safetensors")
    with torch.no_grad():
        logits = model.eval()(input_ids=saved["ids"], attention_mask=saved["mask"].long(), token_type_ids=saved["types"]).logits
    error = (logits - saved["logits"]).abs().max().item() / logits.abs().max().item()
    print(f"{folder}: {kind}, error {error:.1e} of the largest logit{''.join(', ' + name for name in wrong)}")
    return bool(wrong) or error > 1e-5


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        sys.exit(any([check(Path(folder)) for folder in sys.argv[2:]]))
    torch.manual_seed(7)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    for kind in KINDS:
        record(target, kind)
