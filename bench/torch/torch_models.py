"""Training steps of transformers in PyTorch, with torch.compile: what bench/compare_models runs beside Tenon.
usage: torch_models.py JSON     an object of: kind (gpt2 | llama), layers, width, heads, kv_heads, inner, vocab, batch, time, mode (default |
reduce-overhead | eager), steps, device, and if wanted bf16 (true unless given) and threads. Prints one JSON object: ms (median), peak_MiB,
peak_rss_MiB, loss, first_step_s."""
import json, resource, sys, time
import torch, torch.nn as nn, torch.nn.functional as F


class Gpt2Block(nn.Module):
    def __init__(s, c):
        super().__init__()
        C, s.H = c["width"], c["heads"]
        s.ln1, s.qkv, s.proj = nn.LayerNorm(C), nn.Linear(C, 3 * C), nn.Linear(C, C)
        s.ln2, s.fc, s.fc2 = nn.LayerNorm(C), nn.Linear(C, c["inner"]), nn.Linear(c["inner"], C)

    def forward(s, x, _):
        B, T, C = x.shape
        q, k, v = [t.view(B, T, s.H, C // s.H).transpose(1, 2) for t in s.qkv(s.ln1(x)).split(C, 2)]
        x = x + s.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C))
        return x + s.fc2(F.gelu(s.fc(s.ln2(x)), approximate="tanh"))


def turned(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


class LlamaBlock(nn.Module):
    def __init__(s, c):
        super().__init__()
        C, s.H, s.K = c["width"], c["heads"], c["kv_heads"]
        s.D = C // s.H
        s.n1, s.n2 = nn.RMSNorm(C, 1e-5), nn.RMSNorm(C, 1e-5)
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        s.q, s.k, s.v, s.o = linear(C, C), linear(C, s.K * s.D), linear(C, s.K * s.D), linear(C, C)
        s.gate, s.up, s.down = linear(C, c["inner"]), linear(C, c["inner"]), linear(c["inner"], C)

    def forward(s, x, angles):
        B, T, C = x.shape
        h = s.n1(x)
        q, k, v = [m(h).view(B, T, n, s.D).transpose(1, 2) for m, n in ((s.q, s.H), (s.k, s.K), (s.v, s.K))]
        q, k = turned(q, *angles), turned(k, *angles)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=s.K != s.H)
        x = x + s.o(o.transpose(1, 2).reshape(B, T, C))
        h = s.n2(x)
        return x + s.down(F.silu(s.gate(h)) * s.up(h))


class Model(nn.Module):
    def __init__(s, c):
        super().__init__()
        C, V, T = c["width"], c["vocab"], c["time"]
        s.is_gpt2 = c["kind"] == "gpt2"
        s.wte = nn.Embedding(V, C)
        s.h = nn.ModuleList([(Gpt2Block if s.is_gpt2 else LlamaBlock)(c) for _ in range(c["layers"])])
        s.norm = nn.LayerNorm(C) if s.is_gpt2 else nn.RMSNorm(C, 1e-5)
        s.head = nn.Linear(C, V, bias=False)
        if s.is_gpt2:
            s.wpe, s.head.weight = nn.Embedding(T, C), s.wte.weight
        else:
            D = C // c["heads"]
            turns = torch.outer(torch.arange(T, dtype=torch.float64), 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D))
            s.register_buffer("cos", turns.cos().float(), False)
            s.register_buffer("sin", turns.sin().float(), False)
        for p in s.parameters():
            if p.dim() > 1: nn.init.normal_(p, 0, 0.02)

    def forward(s, i, t):
        x = s.wte(i)
        if s.is_gpt2: x = x + s.wpe(torch.arange(i.shape[1], device=i.device))
        angles = None if s.is_gpt2 else (s.cos[: i.shape[1]], s.sin[: i.shape[1]])
        for b in s.h: x = b(x, angles)
        return F.cross_entropy(s.head(s.norm(x)).flatten(0, 1), t.flatten())


def train(c):
    dev, mode, steps = c["device"], c["mode"], c["steps"]
    torch.manual_seed(0)
    if c.get("threads"): torch.set_num_threads(c["threads"])
    if dev == "cuda": torch.set_float32_matmul_precision("high")
    model = Model(c).to(dev)
    f = model if mode == "eager" else torch.compile(model, mode=None if mode == "default" else mode)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    i, t = (torch.randint(0, c["vocab"], (c["batch"], c["time"]), device=dev) for _ in range(2))
    on_gpu = dev == "cuda"
    sync = torch.cuda.synchronize if on_gpu else (lambda: None)
    if on_gpu: torch.cuda.reset_peak_memory_stats()
    times, of_cores = [], []
    for _ in range(steps):
        sync(); start, cores = time.perf_counter(), time.process_time()
        with torch.autocast(dev, dtype=torch.bfloat16, enabled=c.get("bf16", True)): loss = f(i, t)
        loss.backward(); opt.step(); opt.zero_grad(set_to_none=True)
        sync(); times.append(time.perf_counter() - start); of_cores.append(time.process_time() - cores)
    median = lambda all: sorted(all[steps // 3:])[(steps - steps // 3) // 2]
    print(json.dumps(dict(ms=round(median(times) * 1e3, 3), cpu_ms=round(median(of_cores) * 1e3, 3), first_step_s=round(times[0], 2), loss=round(loss.item(), 4),
                          peak_MiB=torch.cuda.max_memory_allocated() >> 20 if on_gpu else None,
                          peak_rss_MiB=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)), flush=True)


if __name__ == "__main__":
    train(json.loads(sys.argv[1]))
