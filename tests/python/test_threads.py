"""Threads that use the same tensors, models and loaders without a lock: each call is done as if it were alone.

Each program runs in a process of its own, so that a crash or a standstill is seen; `THREAD_TEST_ROUNDS=20` runs each
that many times.
"""

import os
import subprocess
import sys
import textwrap
import unittest

import tenon

ROUNDS = int(os.environ.get("THREAD_TEST_ROUNDS", "1"))

# together(f, ...) calls each function on a thread of its own, all at once; the process ends when one of them raises.
START = """
import faulthandler, os, sys, threading, time, traceback
faulthandler.enable()
faulthandler.dump_traceback_later(100, exit=True)
sys.setswitchinterval(1e-5)
import tenon
from tenon import nn

def together(*functions):
    gate = threading.Barrier(len(functions))
    def run(f):
        gate.wait()
        try:
            f()
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)
    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def many(f, count=8):
    together(*[f] * count)

def mlp():
    tenon.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
"""


class Threads(unittest.TestCase):
    def check(self, program):
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
        for _ in range(ROUNDS):
            run = subprocess.run([sys.executable, "-c", START + textwrap.dedent(program) + "\nprint('done')"],
                                 env=environment, capture_output=True, text=True, timeout=240)
            self.assertEqual((run.returncode, run.stdout.strip()), (0, "done"), run.stderr[-4000:])

    def test_add_to_one_tensor_and_read_it(self):
        self.check("""
            s = tenon.zeros(100)
            def work():
                for _ in range(100):
                    s.add_(1)
                    row = s.tolist()
                    assert row == [row[0]] * 100, row
            many(work)
            assert s.tolist() == [800.0] * 100
        """)

    def test_write_through_views_and_read_the_whole(self):
        self.check("""
            s = tenon.zeros(8, 64)
            def writer(i):
                def work():
                    row = s[i]
                    for _ in range(60):
                        row += 1
                        s[i, 3].item()
                        s.t().sum().item()
                        s[:, i:].clone().tolist()
                return work
            together(*[writer(i) for i in range(8)])
            assert s.tolist() == [[60.0] * 64] * 8
        """)

    def test_write_large_tensors_that_another_thread_computes_with(self):
        self.check("""
            s = tenon.zeros(1200, 1200)
            def add():
                for _ in range(8):
                    s.add_(1)
                    s[7, 7].item()
            def read():
                for _ in range(8):
                    found = (s @ s).max().item()
                    assert found == round(found)
            together(add, add, read, read)
            assert s.min().item() == s.max().item() == 16.0
        """)

    def test_share_memory_with_numpy_while_others_write(self):
        self.check("""
            import numpy
            s = tenon.zeros(64)
            array = numpy.zeros(64, numpy.float32)
            shared = tenon.from_numpy(array)
            def work():
                for _ in range(60):
                    s.mul_(1).add_(1)
                    assert s.numpy().shape == (64,)
                    shared.add_(1)
                    memoryview(shared).release()
                    numpy.asarray(s).sum()
            many(work)
            assert s.tolist() == [480.0] * 64 and array.tolist() == [480.0] * 64
        """)

    def test_give_a_tensor_other_data_while_others_read_it(self):
        self.check("""
            s = tenon.zeros(4)
            def change():
                for i in range(150):
                    s.data = tenon.zeros(1 + i % 7, 300) + 1
            def read():
                for _ in range(150):
                    for row in s.tolist():
                        assert row == 0.0 or row == [1.0] * 300
                    repr(s), s.shape, len(s), s.numpy().sum(), float((s * 1).sum()), [x.sum().item() for x in s]
            together(change, change, *[read] * 6)
        """)

    def test_change_dtype_and_flags_while_others_compute(self):
        self.check("""
            s = tenon.zeros(50)
            def change():
                for i in range(100):
                    s.requires_grad_(i % 2 == 0)
                    s.grad = None
            def compute():
                for _ in range(100):
                    try:
                        (s * s).sum().backward()
                        if s.grad is not None:
                            s.grad.tolist()
                    except tenon.Error:
                        pass
            together(change, change, *[compute] * 6)
        """)

    def test_train_one_model_with_one_optimizer(self):
        self.check("""
            model = mlp()
            optimizer = tenon.optim.AdamW(model.parameters(), lr=1e-3)
            def train():
                for _ in range(25):
                    loss = (model(tenon.randn(8, 16)) ** 2).mean()
                    loss.backward()
                    optimizer.step()
                    assert loss.item() >= 0
            many(train)
            assert optimizer.flat_state_dict()["step"].item() == 200
            for parameter in model.parameters():
                assert parameter.isfinite().all().item()
        """)

    def test_go_backward_from_one_loss(self):
        self.check("""
            w = tenon.ones(10, requires_grad=True)
            for _ in range(20):
                w.grad = None
                loss = (w * w).sum()
                done = []
                def back():
                    try:
                        loss.backward()
                        done.append(1)
                    except tenon.Error as error:
                        assert "used up" in str(error), error
                many(back)
                assert len(done) == 1 and w.grad.tolist() == [2.0] * 10
            loss = (w * w).sum()
            w.grad = None
            many(lambda: loss.backward(retain_graph=True))
            assert w.grad.tolist() == [16.0] * 10
        """)

    def test_read_a_model_that_another_thread_trains(self):
        self.check("""
            model = mlp()
            optimizer = tenon.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
            over = []
            def train():
                for _ in range(150):
                    optimizer.zero_grad()
                    (model(tenon.randn(8, 16)) ** 2).mean().backward()
                    optimizer.step()
                over.append(1)
            def read():
                while not over:
                    for name, value in model.state_dict().items():
                        assert value.isfinite().all().item(), name
                    for parameter in model.parameters():
                        parameter.detach().numpy().sum()
                        if parameter.grad is not None:
                            parameter.grad.abs().max().item()
                    model(tenon.ones(2, 16)).tolist()
                    repr(model), optimizer.state_dict()
            together(train, read, read, read)
        """)

    def test_load_and_move_a_model_that_another_thread_uses(self):
        self.check("""
            model, state = mlp(), {name: value.clone() for name, value in mlp().state_dict().items()}
            over = []
            def use():
                for _ in range(60):
                    (model(tenon.randn(8, 16)) ** 2).mean().item()
                over.append(1)
            def load():
                while not over:
                    model.load_state_dict(state)
                    model.train(not model.training)
                    model.zero_grad()
            together(use, use, load, load)
        """)

    def test_call_one_captured_function(self):
        self.check("""
            w = tenon.zeros(16)
            @tenon.compile
            def step(x):
                w.add_(x.mean())
                return (x * 2).sum()
            def work():
                for i in range(60):
                    n = 4 + i % 3
                    assert step(tenon.ones(n)).item() == 2 * n
            many(work)
            assert w.tolist() == [480.0] * 16
            assert step.recordings == 3
        """)

    def test_train_one_captured_step(self):
        self.check("""
            model = mlp()
            optimizer = tenon.optim.Adam(model.parameters(), lr=1e-3)
            @tenon.compile
            def step(x):
                optimizer.zero_grad()
                loss = (model(x) ** 2).mean()
                loss.backward()
                optimizer.step()
                return loss
            def train():
                for _ in range(40):
                    assert step(tenon.randn(8, 16)).item() >= 0
            over = []
            def read():
                while not over:
                    for parameter in model.parameters():
                        assert parameter.isfinite().all().item()
            def all_train():
                many(train, 6)
                over.append(1)
            together(all_train, read, read)
            assert optimizer.flat_state_dict()["step"].item() == 240
        """)

    def test_wait_for_threads_inside_of_callbacks(self):
        self.check("""
            from concurrent.futures import ThreadPoolExecutor
            pool = ThreadPoolExecutor(2)
            s = tenon.zeros(4)
            def elsewhere():
                return pool.submit(lambda: s.add_(1).sum().item()).result(60)
            @tenon.compile
            def f(x):
                elsewhere()
                return x + 1
            for _ in range(4):
                f(tenon.ones(3)).tolist()
            w = tenon.ones(3, requires_grad=True)
            w.register_hook(lambda g: elsewhere() and None)
            (w * w).sum().backward()
            class Twice(tenon.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    elsewhere()
                    return x * 2
                @staticmethod
                def backward(ctx, g):
                    elsewhere()
                    return g * 2
            Twice.apply(w).sum().backward()
            class Branches(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
                def forward(self, x):
                    both = [pool.submit(lambda m=m: m(x)) for m in (self.a, self.b)]
                    return both[0].result(60) + both[1].result(60)
            Branches()(tenon.ones(2, 4)).sum().backward()
            optimizer = tenon.optim.SGD([w], lr=0.1)
            optimizer.step(lambda: elsewhere())
            assert s[0].item() >= 5
        """)

    def test_use_hooks_and_functions_of_python(self):
        self.check("""
            w = tenon.ones(16, requires_grad=True)
            calls = []
            def work():
                for _ in range(30):
                    handle = w.register_hook(lambda g: (calls.append(1), g * 1)[1])
                    y = w * 2
                    y.retain_grad()
                    y.sum().backward()
                    y.grad.sum().item()
                    handle.remove()
            many(work)
            assert len(calls) >= 240
        """)

    def test_iterate_over_one_loader(self):
        self.check("""
            from tenon.data import DataLoader, TensorDataset
            class Squares:
                def __len__(self):
                    return 64
                def __getitem__(self, i):
                    return tenon.tensor([float(i)]), tenon.tensor(i * i)
            for source in (Squares(), TensorDataset(tenon.arange(64).float().reshape(64, 1), tenon.arange(64) ** 2)):
                for workers in (0, 2):
                    loader = DataLoader(source, batch_size=4, num_workers=workers)
                    seen, batches = [], iter(loader)
                    def take():
                        for x, y in batches:
                            seen.extend(y.tolist())
                    many(take, 4)
                    assert sorted(seen) == [i * i for i in range(64)], (workers, sorted(seen))
                    counts = []
                    def own():
                        counts.append(sum(len(y) for x, y in loader))
                    many(own, 4)
                    assert counts == [64] * 4, counts
                    def mixed():
                        for _ in range(10):
                            loader.state(), loader.epoch, len(loader), loader.next()
                    together(mixed, mixed, lambda: [loader.set_epoch(i) for i in range(10)], mixed)
        """)

    def test_write_what_a_loader_reads(self):
        self.check("""
            from tenon.data import DataLoader, TensorDataset, transformed
            rows = tenon.zeros(256, 32)
            class Rows:
                def __len__(self):
                    return 256
                def __getitem__(self, i):
                    return rows[i],
            over = []
            def write():
                while not over:
                    rows.add_(1)
                    rows[3].sum().item()
            def read(loader):
                def work():
                    for _ in range(3):
                        for batch, in loader:
                            batch.sum().item()
                return work
            for source in (Rows(), TensorDataset(rows), transformed(Rows(), lambda x: x * 2)):
                over.clear()
                def all_read():
                    together(*[read(DataLoader(source, batch_size=16, num_workers=n)) for n in (0, 2)])
                    over.append(1)
                together(write, all_read)
        """)

    def test_write_texts_with_one_writer(self):
        self.check("""
            from tenon import models, text
            tokenizer = text.char_tokenizer("abcdefgh ")
            model = models.GPT2(layers=1, heads=2, width=16, positions=64, vocabulary=tokenizer.vocabulary)
            writer = models.TextWriter(model, tokenizer)
            expected = writer.write("abc", new_tokens=20)
            optimizer = tenon.optim.SGD(model.parameters(), lr=0.0)
            def write():
                for _ in range(3):
                    assert writer.write("abc", new_tokens=20) == expected
                    model.generate([0, 1], new_tokens=20)
                    pieces = []
                    writer.write("ab", new_tokens=10, on_text=lambda i, piece: pieces.append(piece))
            def train():
                for _ in range(5):
                    ids = tenon.zeros(2, 8, dtype=tenon.int64)
                    model.loss(ids, ids).backward()
                    optimizer.step()
            together(write, write, write, train)
        """)

    def test_draw_random_numbers(self):
        self.check("""
            generator = tenon.Generator(3)
            def work():
                for _ in range(60):
                    tenon.rand(7).sum().item()
                    tenon.randn(5, generator=generator).tolist()
                    tenon.randperm(9).tolist()
                    tenon.multinomial(tenon.ones(5), 2).tolist()
            many(work)
        """)

    def test_index_with_masks_of_a_tensor_that_is_written(self):
        self.check("""
            s = tenon.arange(100).float()
            def write():
                for _ in range(100):
                    s[s > 50] = 0
                    s.copy_(tenon.arange(100).float())
            def read():
                for _ in range(100):
                    picked = s[s > 20]
                    assert len(picked) in (30, 79), len(picked)
                    tenon.nonzero(s).shape, (5.0 in s), bool(s.any())
            together(write, read, read, read)
        """)

    def test_save_and_load_while_others_write(self):
        self.check("""
            import os, tempfile
            with tempfile.TemporaryDirectory() as folder:
                s = tenon.zeros(1000)
                def write():
                    for _ in range(60):
                        s.add_(1)
                def save(i):
                    def work():
                        for _ in range(10):
                            for name in (f"{i}.safetensors", f"{i}.pt"):
                                path = os.path.join(folder, name)
                                tenon.save({"s": s}, path)
                                row = tenon.load(path)["s"].tolist()
                                assert row == [row[0]] * 1000
                    return work
                together(write, write, save(0), save(1))
                assert s[0].item() == 120.0
        """)

    def test_drop_tensors_and_collect_while_others_compute(self):
        self.check("""
            import gc
            shared = [tenon.ones(50)]
            def replace():
                for _ in range(200):
                    shared[0] = shared[0] + 1
                    shared[0] = tenon.ones(50)
            def collect():
                for _ in range(15):
                    model = mlp()
                    model.step = tenon.compile(lambda x: model(x))
                    model.step(tenon.ones(2, 16)).sum().item()
                    del model
                    gc.collect()
            def read():
                for _ in range(200):
                    shared[0].sum().item()
            together(replace, collect, collect, read, read)
        """)

    def test_fork_while_others_compute(self):
        self.check("""
            import os
            s, over = tenon.zeros(100), []
            def compute():
                while not over:
                    s.add_(1)
                    s.sum().item()
            def fork():
                for _ in range(6):
                    child = os.fork()
                    if child == 0:
                        assert tenon.ones(3).sum().item() == 3
                        os._exit(0)
                    assert os.waitpid(child, 0)[1] == 0
                over.append(1)
            together(compute, compute, fork)
        """)

    def test_fork_while_workers_are_in_the_midst_of_samples(self):
        self.check("""
            import os
            from tenon.data import DataLoader, TensorDataset, transformed
            rows = tenon.zeros(64, 8)
            class Slow:
                def __len__(self):
                    return 64
                def __getitem__(self, i):
                    time.sleep(0.002)
                    return rows[i] + 1,
            slow = lambda x: (time.sleep(0.002), x)[1]
            for source in (Slow(), transformed(TensorDataset(rows), slow)):
                for i, (batch,) in enumerate(DataLoader(source, batch_size=4, num_workers=3)):
                    child = os.fork()
                    if child == 0:
                        assert tenon.ones(3).sum().item() == 3
                        os._exit(0)
                    assert os.waitpid(child, 0)[1] == 0
        """)

    def test_are_interrupted_while_they_wait_for_each_other(self):
        self.check("""
            import _thread, os, signal
            held = threading.Event()
            s = tenon.zeros(1500, 1500)
            over = []
            def compute():
                while not over:
                    held.set()
                    x = s
                    for _ in range(4):
                        x = (x @ s)
                    x.sum().item()
            threads = [threading.Thread(target=compute) for _ in range(3)]
            for thread in threads:
                thread.start()
            held.wait()
            threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    s.sum().item()
            except KeyboardInterrupt:
                over.append(1)
            for thread in threads:
                thread.join()
        """)

    def test_go_on_while_another_waits_for_a_long_evaluation(self):
        self.check("""
            x = tenon.randn(1600, 1600)
            def long():
                y = x
                for _ in range(25):
                    y = (y @ x) * 1e-2
                return y.sum()
            long().item()
            waits, turns = threading.Event(), []
            def wait():
                value = long()
                waits.set()
                value.item()
                turns.append("waited")
            def record():
                waits.wait()
                time.sleep(0.05)
                for _ in range(100):
                    tenon.ones(3) + 1
                turns.append("recorded")
            together(wait, record)
            assert turns == ["recorded", "waited"], turns
        """)

    def test_run_while_a_training_of_the_library_runs(self):
        self.check("""
            import tempfile
            s, ticks = tenon.zeros(10), []
            with tempfile.TemporaryDirectory() as folder:
                def run():
                    tenon.training.train("demo", folder + "/run", quiet=True, set={"training.steps": 6},
                                         on_metrics=lambda metrics: s.add_(1))
                    ticks.append("end")
                def tick():
                    while "end" not in ticks:
                        s.sum().item()
                        ticks.append(1)
                        time.sleep(0.001)
                together(run, tick, tick)
            assert len(ticks) > 10
        """)


if __name__ == "__main__":
    unittest.main()
