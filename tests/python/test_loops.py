"""Loops as users of PyTorch write them: what nobody reads keeps no more in memory than what it is."""

import array
import os
import unittest

import tenon
from tenon import nn

STEPS = int(os.environ.get("TENON_STEPS", 120))


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) * 1024


class Unread(unittest.TestCase):
    def bytes_held(self, after, steps=STEPS, before=lambda loss, predicted: None):
        """The most bytes in use after a step beyond those after the tenth, for a model of a megabyte."""
        net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
        self.weights = sum(p.numel() * 4 for p in net.parameters())
        optimizer = tenon.optim.SGD(net.parameters(), lr=0.01)
        x, y = tenon.rand(16, 256), tenon.rand(16, 256)
        tenon.wait(x, y)
        earlier = most = early = 0
        for i in range(steps):
            predicted = net(x)
            loss = nn.functional.mse_loss(predicted, y)
            before(loss, predicted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            after(loss, predicted)
            if i == 10:
                earlier = tenon.memory_allocated()
            elif i > 10:
                most = max(most, tenon.memory_allocated() - earlier)
            if i == steps // 4:
                early = resident()
        self.assertLess(resident() - early, 64 << 20)
        return most

    def test_loops_that_only_record(self):
        """Neither an optimizer's step nor a value that is read: the graph itself is what would grow."""
        x, w = tenon.rand(16, 64), tenon.rand(64, 64).requires_grad_()
        total, state = tenon.zeros(()), tenon.rand(16, 64)
        before = most = resident()
        for i in range(40000):
            total = total + (x @ w).sum().detach()
            state = state * 0.5 + 0.5
            (x @ w * (i % 7)).sum().backward()
            if i % 500 == 0:
                most = max(most, resident())
        self.assertLess(most - before, 64 << 20)
        self.assertAlmostEqual(state.mean().item(), 1, 5)
        self.assertGreater(total.item(), 0)
        self.assertGreater(w.grad.sum().item(), 0)

    def resident_of(self, step, steps=STEPS):
        """The most memory of the process beyond what it had at first, while a model of a megabyte takes so many steps."""
        net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
        step(net, tenon.rand(16, 256))
        tenon.wait(*net.parameters())
        before = most = resident()
        for i in range(steps):
            step(net, tenon.rand(16, 256))
            if i % 50 == 0:
                most = max(most, resident())
        return most - before, 2 * sum(p.numel() * 4 for p in net.parameters())

    def test_a_sum_over_batches_that_nobody_reads(self):
        total = tenon.zeros(())

        def step(net, x):
            nonlocal total
            with tenon.no_grad():
                total = total + net(x).sum()

        most, weights = self.resident_of(step, 10000)
        self.assertLess(most, weights + (64 << 20))
        self.assertTrue(tenon.isfinite(total).item())

    def test_gradients_of_steps_that_an_exception_ends(self):
        def step(net, x):
            try:
                loss = net(x).sum()
                loss.backward()
                raise ValueError
            except ValueError:
                self.weight = next(net.parameters())

        most, weights = self.resident_of(step, 10000)
        self.assertLess(most, weights + (64 << 20))
        self.assertTrue(tenon.isfinite(self.weight.grad.sum()).item())
        del self.weight

    def test_losses_that_an_exception_drops(self):
        def step(net, x):
            try:
                loss = nn.functional.mse_loss(net(x), x)
                raise ValueError
            except ValueError:
                self.assertTrue(loss.requires_grad)

        most, weights = self.resident_of(step, 3000)
        self.assertLess(most, weights + (64 << 20))

    def test_sums_of_losses(self):
        total, written, kept = tenon.zeros(()), tenon.zeros(()), []

        def after(loss, _):
            nonlocal total, written
            total = total + loss.detach()
            written += loss.detach()
            kept.append(loss.detach())

        self.assertLessEqual(self.bytes_held(after), 2 * self.weights + STEPS * 4096)
        self.assertEqual(total.item(), written.item())
        self.assertLess(kept[-1].item(), kept[0].item())

    def test_metrics_and_features(self):
        right, features = 0, []

        def after(_, predicted):
            nonlocal right
            right = right + (predicted.argmax(1) == 7).sum()
            with tenon.no_grad():
                features.append(predicted.mean(0))

        self.assertLessEqual(self.bytes_held(after), 2 * self.weights + STEPS * 4096)
        self.assertGreaterEqual(right.item(), 0)

    def test_losses_that_are_not_detached(self):
        total, kept = 0, []

        def after(loss, predicted):
            nonlocal total
            total = total + loss.detach()

        def before(loss, predicted):
            kept.append(loss)
            kept.append(predicted.mean())

        self.assertLessEqual(self.bytes_held(after, before=before), 2 * self.weights + STEPS * 16384)
        self.assertAlmostEqual(sum(loss.item() for loss in kept[::2]) / total.item(), 1, 4)
        with self.assertRaisesRegex(RuntimeError, "detach"):
            kept[1].backward()

    def test_metrics_of_an_evaluation(self):
        net, right, kept = nn.Linear(1024, 10), 0, []
        numbers = array.array("f", (i % 977 / 977 - 0.5 for i in range(256 * 1024)))
        tenon.wait(*net.parameters())
        before, most = tenon.memory_allocated(), 0
        early = 0
        steps = min(STEPS, 3000)
        with tenon.no_grad():
            for i in range(steps):
                x = tenon.tensor(numbers).reshape(256, 1024)
                hit = net(x).argmax(1) == 3
                right = right + hit.sum()
                kept.append(hit.float().mean())
                most = max(most, tenon.memory_allocated() - before)
                if i == steps // 4:
                    early = resident()
        self.assertLess(resident() - early, 64 << 20)
        self.assertLess(most, 16 << 20)
        self.assertEqual(right.item(), round(256 * steps * kept[3].item()))

    def losses_with_a_carried_state(self, reads):
        tenon.manual_seed(2)
        net, out = nn.GRU(8, 16, 2), nn.Linear(16, 4)
        optimizer = tenon.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-2)
        x, state, losses = tenon.rand(6, 3, 8), tenon.zeros(2, 3, 16), []
        before, early, running = tenon.memory_allocated(), 0, tenon.zeros(())
        for i in range(STEPS):
            state = state.detach()
            if reads is True:
                state.tolist()
            read, state = net(x * (1 + i % 3), state)
            loss = (out(read) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.detach()
            losses.append(loss.detach() if reads is None else loss.item())
            self.assertLess(tenon.memory_allocated() - before, (1 << 20) + STEPS * 1024)
            if i == STEPS // 4:
                early = resident()
        self.assertLess(resident() - early, 64 << 20)
        losses = [float(loss) for loss in losses]
        self.assertAlmostEqual(sum(losses) / running.item(), 1, 3)
        return losses

    def losses_that_are_read(self, net, state, reads, takes_sequences=True):
        """Of a loop that trains nothing: its state is cut from its history at the beginning of every step."""
        x = tenon.rand(*((6, 3, 8) if takes_sequences else (3, 8)))
        losses, held, early = [], [], 0
        for i in range(STEPS):
            state = tuple(v.detach() for v in state)
            if reads:
                for v in state:
                    v.tolist()
            given = state if len(state) > 1 else state[0]
            if takes_sequences:
                read, given = net(x, given)
            else:
                given = net(x, given)
                read = given[0] if isinstance(given, tuple) else given
            state = given if isinstance(given, tuple) else (given,)
            losses.append((read ** 2).mean().item())
            held.append(tenon.memory_allocated())
            if i == STEPS // 4:
                early = resident()
        self.assertEqual(set(held[10:]), {held[10]})
        self.assertLess(resident() - early, 32 << 20)
        return losses

    def test_states_of_layers_are_computed_with_the_loss(self):
        nets = [(nn.LSTM(8, 16, 2), 2, True), (nn.GRU(8, 16, 2), 1, True), (nn.RNN(8, 16, 2), 1, True),
                (nn.LSTMCell(8, 16), 2, False), (nn.GRUCell(8, 16), 1, False)]
        for net, states, takes_sequences in nets:
            with self.subTest(net):
                shape = (2, 3, 16) if takes_sequences else (3, 16)
                losses = []
                for reads in (False, True):
                    tenon.manual_seed(3)
                    zeros = tuple(tenon.zeros(*shape) for _ in range(states))
                    losses.append(self.losses_that_are_read(net, zeros, reads, takes_sequences))
                self.assertEqual(*losses)

    def test_a_state_beside_the_loss(self):
        for with_gradients in (True, False):
            weight, x = (tenon.rand(16, 16) / 16).requires_grad_(with_gradients), tenon.rand(4, 16)
            state, other, held, read = tenon.zeros(4, 16), tenon.zeros(4, 16), [], []
            for _ in range(STEPS):
                state, other = state.detach(), other.detach()
                loss = (state @ weight).sum()
                state = (state @ weight + x).tanh()
                other = other * 0.5 + state
                read.append(loss.item())
                held.append(tenon.memory_allocated())
            self.assertEqual(set(held[10:]), {held[10]})
            self.assertGreater(read[-1], read[1])

    def test_graphs_that_all_differ(self):
        x, late = tenon.full((64,), 0.75), 0
        for i in range(STEPS):
            y, wanted = x, 0.75
            for bit in range(15):
                y, wanted = (y + x, wanted + 0.75) if i >> bit & 1 else (y * x, wanted * 0.75)
            self.assertAlmostEqual(y[i % 64].item() / wanted, 1, 5)
            if i == STEPS * 3 // 5:
                late = resident()
        self.assertLess(resident() - late, 32 << 20)

    def test_a_carried_state(self):
        """Read every step, with the state or without it, or not at all."""
        read = self.losses_with_a_carried_state(True)
        for reads in (False, None):
            self.assertEqual(self.losses_with_a_carried_state(reads), read)


if __name__ == "__main__":
    unittest.main()
