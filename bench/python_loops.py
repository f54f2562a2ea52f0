"""Training loops as PyTorch's users write them, for tenon and torch alike; python_bench.py times them.

Each function makes a model and gives the step of its loop. A step reads what such a program reads, and no more.
"""

import random
import statistics
import time


def carried_state(lib):
    """A GRU whose state goes from step to step."""
    nn = lib.nn
    net, out = nn.GRU(32, 64), nn.Linear(64, 16)
    optimizer = lib.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
    x, y = lib.rand(20, 8, 32), lib.randint(0, 16, (160,))
    state = lib.zeros(1, 8, 64)

    def step():
        nonlocal state
        read, state = net(x, state.detach())
        loss = nn.functional.cross_entropy(out(read).reshape(160, 16), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def word_language_model(lib):
    """As in PyTorch's examples: two layers of LSTM, gradients clipped, weights updated by hand."""
    nn, words = lib.nn, 1000
    parts = nn.Embedding(words, 64), nn.LSTM(64, 128, 2), nn.Linear(128, words)
    embedding, net, decoder = parts
    parameters = [p for part in parts for p in part.parameters()]
    data = lib.randint(0, words, (36, 20))
    state = lib.zeros(2, 20, 128), lib.zeros(2, 20, 128)

    def step():
        nonlocal state
        state = tuple(v.detach() for v in state)
        for p in parameters:
            p.grad = None
        read, state = net(embedding(data[:-1]), state)
        loss = nn.functional.cross_entropy(decoder(read).reshape(-1, words), data[1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.25)
        for p in parameters:
            p.data.add_(p.grad, alpha=-1.0)
        return loss.item()

    return step


def unread_losses(lib):
    """Losses that are added up and kept in a list, and read by nobody."""
    nn = lib.nn
    net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
    optimizer = lib.optim.SGD(net.parameters(), lr=0.01)
    x, y, total, kept = lib.rand(32, 256), lib.rand(32, 256), lib.zeros(()), []

    def step():
        nonlocal total
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss.detach()
        kept.append(loss.detach())

    return step


def varying_lengths(lib):
    nn, choice = lib.nn, random.Random(1)
    net = nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 100))
    optimizer = lib.optim.AdamW(net.parameters(), lr=1e-3)
    ids = lib.randint(0, 100, (16, 80))

    def step():
        n = choice.randint(10, 79)
        loss = nn.functional.cross_entropy(net(ids[:, :n]).reshape(-1, 100), ids[:, 1:n + 1].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def makemore(lib):
    """Karpathy's MLP with a batch norm written out."""
    table, w1, b1 = lib.randn(27, 10), lib.randn(80, 200) * 0.1, lib.randn(200) * 0.01
    gain, shift, w2, b2 = lib.ones(1, 200), lib.zeros(1, 200), lib.randn(200, 27) * 0.01, lib.zeros(27)
    parameters = [table, w1, b1, gain, shift, w2, b2]
    for p in parameters:
        p.requires_grad = True
    x, y = lib.randint(0, 27, (5000, 8)), lib.randint(0, 27, (5000,))
    running, kept = [lib.zeros(1, 200), lib.ones(1, 200)], []

    def step():
        at = lib.randint(0, x.shape[0], (32,))
        read = table[x[at]]
        before = read.view(read.shape[0], -1) @ w1 + b1
        mean, spread = before.mean(0, keepdim=True), before.std(0, keepdim=True)
        hidden = lib.tanh(gain * (before - mean) / spread + shift)
        with lib.no_grad():
            running[0] = 0.999 * running[0] + 0.001 * mean
            running[1] = 0.999 * running[1] + 0.001 * spread
        loss = lib.nn.functional.cross_entropy(hidden @ w2 + b2, y[at])
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.1 * p.grad
        kept.append(loss.log10().item())

    return step


def small_reads(lib):
    """A policy that is asked ten times a step, and learns from that."""
    nn = lib.nn
    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = lib.optim.Adam(net.parameters(), lr=1e-2)
    seen = lib.rand(4)

    def step():
        chosen = []
        for _ in range(10):
            logarithms = nn.functional.log_softmax(net(seen), -1)
            action = int(lib.multinomial(logarithms.exp().detach(), 1).item())
            chosen.append(logarithms[action])
        loss = -(lib.stack(chosen) * lib.ones(10)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def small_ops(lib):
    a, b = lib.rand(8), lib.rand(8)

    def step():
        for _ in range(50):
            (a * b + 1).sum().item()

    return step


def reads(make, read):
    """Twenty values a step that a program looks at one by one."""
    def loop(lib):
        given = make(lib)
        for x in given:
            x.sum().item()

        def step():
            for _ in range(20):
                read(lib, *given)

        return step

    return loop


def of_numbers(lib, number, vector, matrix):
    return number.item() + vector[3].item() + float(vector[5]) + matrix[3, 4].item()


def of_lists(lib, number, vector, matrix):
    return vector.tolist(), matrix.tolist(), matrix[2].tolist(), matrix.t().tolist()


def of_conditions(lib, number, vector, matrix):
    return 1 if number > 2 or vector[0] < -1 or (matrix > 0.9).any() else 0


def of_results(lib, number, vector, matrix):
    return vector.sum().item() + matrix.max().item() + (vector * number).mean().item() + vector.argmax().item()


def numbers(lib):
    return [lib.rand(()), lib.rand(64), lib.rand(16, 16)]


def collated(lib):
    """A batch out of 64 pictures with their labels."""
    if lib.__name__ == "tenon":
        from tenon.data import default_collate
    else:
        from torch.utils.data import default_collate
    samples = [(lib.rand(3, 64, 64), i) for i in range(64)]
    for picture, _ in samples:
        picture.sum().item()

    def step():
        pictures, _ = default_collate(samples)
        return pictures[0, 0, 0, 0].item()

    return step


def op(make, call):
    def loop(lib):
        given = make(lib)

        def step():
            made = call(lib, *given)
            (made if hasattr(made, "sum") else made[0]).sum().item()

        return step

    return loop


def with_gradient(function):
    """The function, and the gradients of its sum with respect to all tensors."""
    def call(lib, *given):
        for x in given:
            x.grad = None
        function(lib, *given).sum().backward()
        return sum(x.grad.sum() for x in given)

    return call


def distances(lib, a, b):
    a.grad = b.grad = None
    lib.cdist(a, b).sum().backward()
    return a.grad + b.grad


LOOPS = {
    "carried state": carried_state, "word_language_model": word_language_model, "unread losses": unread_losses,
    "varying lengths": varying_lengths, "makemore": makemore, "small reads": small_reads, "small ops": small_ops, "collate": collated,
    "reads of numbers": reads(numbers, of_numbers), "reads of lists": reads(numbers, of_lists),
    "reads of conditions": reads(numbers, of_conditions), "reads of results": reads(numbers, of_results),
    "round": op(lambda lib: [lib.rand(256, 256) * 10], lambda lib, x: lib.round(x)),
    "logcumsumexp": op(lambda lib: [lib.rand(256, 256)], lambda lib, x: lib.logcumsumexp(x, 1)),
    "int64 matmul": op(lambda lib: [lib.randint(0, 9, (128, 128)), lib.randint(0, 9, (128, 128))], lambda lib, a, b: a @ b),
    "upsample nearest, gradient": op(lambda lib: [lib.rand(4, 8, 32, 32).requires_grad_()],
                                     with_gradient(lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=2.0))),
}


def sized(name, make, call, **sizes):
    """A function at several sizes: where the call counts, as most programs have it, and where the work counts."""
    for size, given in sizes.items():
        LOOPS[f"{name}, {size}" if size != "usual" else name] = op(lambda lib, given=given: make(lib, *given), call)


def images_and_places(lib, *shape):
    batch, channels, height, width = shape
    return [lib.rand(*shape).requires_grad_(), (lib.rand(batch, height, width, 2) * 2 - 1).requires_grad_()]


def sampled(lib, x, grid):
    return lib.nn.functional.grid_sample(x, grid, align_corners=False)


def values_and_places(lib, x):
    values, places = lib.cummax(x, 1)
    return values.sum() + places.sum()


IMAGES = {"small": (1, 3, 8, 8), "icons": (2, 3, 16, 16), "usual": (4, 8, 64, 64), "large": (8, 32, 128, 128)}
MATRICES = {"small": (16, 16), "usual": (256, 256), "large": (2048, 2048)}
sized("cummax", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.cummax(x, 1), **MATRICES)
sized("cummax with its places", lambda lib, *shape: [lib.rand(*shape)], values_and_places, **MATRICES)
CLASSES = {"digits": (64, 10), "ImageNet": (64, 1000), "words": (64, 50257)}
sized("max along a dim", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.max(x, 1).values, **CLASSES)
sized("argmax along a dim", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.argmax(x, 1), **CLASSES)
sized("clamp", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.clamp(x, 0.2, 0.8), **MATRICES)
sized("clamp, gradient", lambda lib, *shape: [lib.rand(*shape).requires_grad_()],
      with_gradient(lambda lib, x: lib.clamp(x, 0.2, 0.8)), **MATRICES)
sized("diag", lambda lib, n: [lib.rand(n)], lambda lib, x: lib.diag(x), small=(16,), usual=(256,), large=(2048,))
sized("diag of a matrix", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.diag(x), **MATRICES)
sized("randperm", lambda lib, n: [n], lambda lib, n: lib.randperm(n), ten=(10,), small=(64,), thousand=(1000,), usual=(100_000,), large=(2_000_000,))
sized("cdist, gradient", lambda lib, n, m: [lib.rand(n, m).requires_grad_(), lib.rand(n, m).requires_grad_()], distances,
      small=(8, 3), places=(100, 3), usual=(128, 32), large=(1024, 64))
sized("cdist", lambda lib, n, m: [lib.rand(n, m), lib.rand(n, m)], lambda lib, a, b: lib.cdist(a, b),
      small=(8, 3), places=(100, 3), usual=(128, 32), large=(1024, 64))
sized("grid_sample", lambda lib, *shape: [x.detach() for x in images_and_places(lib, *shape)], sampled, **IMAGES)
sized("grid_sample, gradient", images_and_places, with_gradient(sampled), **IMAGES)
sized("avg_pool2d", lambda lib, *shape: [lib.rand(*shape)], lambda lib, x: lib.nn.functional.avg_pool2d(x, 2), **IMAGES)
sized("avg_pool2d, overlapping", lambda lib, *shape: [lib.rand(*shape)],
      lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 1, 1), **IMAGES)
sized("avg_pool2d, gradient", lambda lib, *shape: [lib.rand(*shape).requires_grad_()],
      with_gradient(lambda lib, x: lib.nn.functional.avg_pool2d(x, 2)), **IMAGES)
sized("avg_pool2d, overlapping, gradient", lambda lib, *shape: [lib.rand(*shape).requires_grad_()],
      with_gradient(lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 1, 1)), **IMAGES)


def milliseconds(lib, name, warm_up=10, steps=40):
    """Processor time of a step, the median of some."""
    lib.manual_seed(0)
    lib.set_num_threads(1)
    step = LOOPS[name](lib)
    for _ in range(warm_up):
        step()
    times = []
    for _ in range(steps):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1e3


def by_turns(libraries, name, rounds=15, seconds=0.004):
    """Microseconds of a step for each library, the medians of rounds in which they take turns: wall and processor time."""
    steps = {}
    for lib in libraries:
        lib.manual_seed(0)
        steps[lib] = LOOPS[name](lib)
        for _ in range(15):
            steps[lib]()
    start = time.perf_counter()
    steps[libraries[-1]]()
    count = max(3, min(300, int(seconds / (time.perf_counter() - start))))
    times = {lib: ([], []) for lib in libraries}
    for i in range(rounds):
        for lib in libraries[::1 if i % 2 else -1]:
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(count):
                steps[lib]()
            times[lib][0].append((time.perf_counter() - wall) / count * 1e6)
            times[lib][1].append((time.process_time() - processor) / count * 1e6)
    return [tuple(map(statistics.median, times[lib])) for lib in libraries]
