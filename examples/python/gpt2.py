"""GPT-2, written out: a model, training on stories that Tenon makes up, and the text it writes.

    python3 examples/python/gpt2.py            # a few minutes on a laptop
    python3 examples/python/gpt2.py --quick    # seconds; it only learns letters

The parameters are those of transformers' GPT-2 with Linear in the place of Conv1D.
"""

import argparse
import math

import tenon
from tenon import data, nn, text
from tenon.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--heads", type=int, default=4)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--context", type=int, default=64)
parser.add_argument("--steps", type=int, default=1500)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()
if args.quick:
    args.layers, args.width, args.steps = 2, 64, 120


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.reshape(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.c_attn(x).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self, vocabulary, context, width, layers, heads):
        super().__init__()
        self.context = context
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        for name, p in self.named_parameters():  # GPT-2's initial values
            if p.ndim == 2:
                last = name.endswith(("c_proj.weight", "mlp.2.weight"))
                nn.init.normal_(p, 0, 0.02 / math.sqrt(2 * layers) if last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(tenon.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)  # the head is the embedding


tenon.manual_seed(1)
corpus = data.stories(1_000_000, seed=1)
tokenizer = text.char_tokenizer(corpus)
loader = data.TokenLoader(tokenizer.encode(corpus), batch_size=args.batch, length=args.context, seed=1)
model = GPT2(tokenizer.vocabulary, args.context, args.width, args.layers, args.heads)
print(f"{model.count_parameters():,} parameters, {tokenizer.vocabulary} letters")
optimizer = tenon.optim.AdamW(tenon.optim.decay_matrices_only(model.parameters()), lr=args.lr, weight_decay=0.1)
schedule = tenon.optim.Scheduler(optimizer, tenon.optim.cosine(args.steps, warmup=args.steps // 20, last=0.1))


@tenon.compile
def step(x, y):
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.clip_grad_norm(1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


for i in range(args.steps):
    loss = step(*loader.next())
    schedule.step()
    if i % 50 == 0 or i == args.steps - 1:
        print(f"step {i}: loss {loss.item():.3f}")

model.eval()
tokens = tokenizer.encode("Once upon a time")
generator = tenon.Generator(1)
with tenon.no_grad():
    for _ in range(20 if args.quick else 300):
        logits = model(tenon.tensor([tokens[-args.context:]]))[0, -1] / 0.8
        tokens.append(tenon.multinomial(logits.softmax(0), 1, generator=generator).item())
print(tokenizer.decode(tokens))
assert loss.item() < (2.8 if args.quick else 1.5)
