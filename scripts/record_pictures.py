#!/usr/bin/env python3
"""Records what PyTorch computes for tiny ResNets and a tiny ViT: record_pictures.py [FOLDER] [--torchvision]

Writes, into tests/golden/pictures unless another folder is given, for each model NAME.pt (the weights, as torch.save writes a
state dict) and NAME.safetensors: `x`, `labels`, `logits` and `grad.PARAMETER` of the mean cross-entropy in training,
`state.BUFFER` after it, and `eval`, the logits afterwards in evaluation. All is computed in f64 from f32 values and
stored as f32. The models are written here with torchvision's names; with --torchvision each is compared with
torchvision's own (which has four stages always) instead: names, shapes, and logits.
"""

import json
import struct
import sys
from collections import OrderedDict
from functools import partial
from pathlib import Path

import torch
from torch import nn
import torch.nn.functional as F

TARGET = Path(__file__).resolve().parent.parent / "tests" / "golden" / "pictures"


class Block(nn.Module):
    def __init__(self, i, width, stride, bottleneck):
        super().__init__()
        o = width * 4 if bottleneck else width
        if bottleneck:
            convolutions = [nn.Conv2d(i, width, 1, bias=False), nn.Conv2d(width, width, 3, stride, 1, bias=False),
                            nn.Conv2d(width, o, 1, bias=False)]
        else:
            convolutions = [nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.Conv2d(o, o, 3, 1, 1, bias=False)]
        self.count = len(convolutions)
        for k, convolution in enumerate(convolutions, 1):
            setattr(self, f"conv{k}", convolution)
            setattr(self, f"bn{k}", nn.BatchNorm2d(convolution.out_channels))
        self.downsample = None
        if stride > 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = x
        for k in range(1, self.count + 1):
            y = getattr(self, f"bn{k}")(getattr(self, f"conv{k}")(y))
            if k < self.count:
                y = F.relu(y)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, width, classes, small=False):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False) if small else nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        i = width
        for stage, count in enumerate(blocks):
            layers = []
            for k in range(count):
                layers.append(Block(i, width << stage, 2 if stage and k == 0 else 1, bottleneck))
                i = (width << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.stages = len(blocks)
        self.fc = nn.Linear(i, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class EncoderBlock(nn.Module):
    def __init__(self, heads, width, inner):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Dropout(0.0), nn.Linear(inner, width))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self, length, layers, heads, width, inner):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, length, width).normal_(std=0.02))
        self.layers = nn.Sequential(OrderedDict((f"encoder_layer_{k}", EncoderBlock(heads, width, inner)) for k in range(layers)))
        self.ln = nn.LayerNorm(width, 1e-6)

    def forward(self, x):
        return self.ln(self.layers(x + self.pos_embedding))


class ViT(nn.Module):
    def __init__(self, size, patch, layers, heads, width, inner, classes):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.encoder = Encoder((size // patch) ** 2 + 1, layers, heads, width, inner)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(width, classes)))

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


MODELS = {
    "resnet_basic": (lambda: ResNet([1, 1], False, 8, 5), (4, 3, 24, 20)),
    "resnet_bottleneck": (lambda: ResNet([1, 2], True, 4, 5), (4, 3, 24, 24)),
    "resnet_small_pictures": (lambda: ResNet([1, 1], False, 8, 5, small=True), (4, 3, 8, 8)),
    "vit": (lambda: ViT(16, 4, 2, 2, 16, 32, 5), (4, 3, 16, 16)),
}


def write_safetensors(path, tensors):
    header, chunks, offset = {}, [], 0
    kinds = {torch.float32: "F32", torch.int64: "I64"}
    for key, tensor in tensors.items():
        data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
        header[key] = {"dtype": kinds[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def narrow(tensor):
    tensor = tensor.detach()
    return tensor.float() if tensor.is_floating_point() else tensor


def shaken(net):
    """No parameter is a constant: what a model does not use would not show."""
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.add_(torch.randn_like(p) * 0.05)
        for name, b in net.named_buffers():
            if b.is_floating_point():
                b.add_(torch.rand_like(b) * 0.2)
    return net


def record(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, shape) in MODELS.items():
        torch.manual_seed(20261118)
        net = shaken(make())
        torch.save(OrderedDict((key, value.clone()) for key, value in net.state_dict().items()), folder / f"{name}.pt")
        x, labels = torch.randn(shape), torch.arange(len(torch.empty(shape))) % 5
        net = net.double().train()
        logits = net(x.double())
        F.cross_entropy(logits, labels).backward()
        tensors = {"x": x, "labels": labels, "logits": narrow(logits)}
        tensors.update({f"grad.{key}": narrow(p.grad) for key, p in net.named_parameters()})
        tensors.update({f"state.{key}": narrow(b) for key, b in net.named_buffers()})
        net.eval()
        with torch.no_grad():
            tensors["eval"] = narrow(net(x.double()))
        write_safetensors(folder / f"{name}.safetensors", tensors)
        print(f"{name}: {sum(p.numel() for p in net.parameters())} parameters, by PyTorch {torch.__version__}")


def compare_with_torchvision():
    from torchvision.models import resnet
    from torchvision.models.vision_transformer import VisionTransformer
    pairs = [("resnet18", ResNet([2, 2, 2, 2], False, 64, 5), resnet.resnet18(num_classes=5), 64),
             ("resnet50", ResNet([3, 4, 6, 3], True, 64, 5), resnet.resnet50(num_classes=5), 64),
             ("vit", ViT(32, 8, 2, 2, 16, 32, 5), VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5), 32)]
    for name, ours, theirs, size in pairs:
        shapes = [[(key, value.shape) for key, value in net.state_dict().items()] for net in (ours, theirs)]
        assert sorted(shapes[0]) == sorted(shapes[1]), f"{name}: the names or shapes differ"
        theirs.load_state_dict(shaken(ours).state_dict())
        x = torch.randn(2, 3, size, size)
        with torch.no_grad():
            difference = (ours.eval()(x) - theirs.eval()(x)).abs().max().item()
        assert difference < 1e-4, f"{name}: logits differ by {difference}"
        print(f"{name}: {len(shapes[0])} names and shapes are torchvision's, logits to {difference:.1e}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--torchvision"]
    if "--torchvision" in sys.argv:
        compare_with_torchvision()
    else:
        record(Path(words[0]) if words else TARGET)
