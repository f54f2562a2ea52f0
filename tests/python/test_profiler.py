"""tenon.profiler: what ran, where, and in which steps."""

import json
import os
import tempfile
import time
import unittest

import tenon
from tenon.profiler import ProfilerAction, ProfilerActivity, doctor, profile, record_function, schedule, tensorboard_trace_handler


def training_step():
    net = tenon.nn.Sequential(tenon.nn.Linear(16, 32), tenon.nn.ReLU(), tenon.nn.Linear(32, 4))
    optimizer = tenon.optim.SGD(net.parameters(), lr=0.1)
    x, y = tenon.rand(8, 16), tenon.randint(0, 4, (8,))

    def step():
        loss = tenon.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


class TestProfiler(unittest.TestCase):
    def test_shows_kernels_with_their_passes_and_parts_of_the_program(self):
        step = training_step()
        step()
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
            with record_function("my step"):
                step()
        rows = {row.key: row for row in prof.key_averages()}
        self.assertIn("contract", rows)
        self.assertEqual(rows["my step"].count, 1)
        self.assertGreater(rows["my step"].cpu_time_total, rows["contract"].device_time)
        kernels = [event for event in prof.events() if event.device]
        self.assertLessEqual({"forward", "backward", "optimizer"}, {event.pass_name for event in kernels})
        self.assertIn("0", {event.module for event in kernels})
        shapes = [row.key for row in prof.key_averages(group_by_input_shape=True)]
        self.assertTrue(any("(8, 16)" in key for key in shapes), shapes)

    def test_tables_are_sorted_as_asked_for(self):
        with profile() as prof:
            training_step()()
        totals = [row.total_us for row in prof.key_averages()]
        self.assertEqual(totals, sorted(totals, reverse=True))
        self.assertIn("contract", prof.key_averages().table(sort_by="cuda_time_total", row_limit=5))
        self.assertIn("contract", prof.key_averages().table(sort_by="count"))

    def test_a_schedule_chooses_steps(self):
        action = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
        self.assertEqual([action(i).name for i in range(7)],
                         ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"])
        self.assertIs(schedule(wait=0, warmup=0, active=1)(100), ProfilerAction.RECORD_AND_SAVE)
        with self.assertRaisesRegex(ValueError, "1 active step"):
            schedule(wait=1, warmup=0, active=0)

        seen, step = [], training_step()

        def ready(prof):
            seen.append((prof.step_num, sum(event.name == "a step" for event in prof.events())))

        with profile(schedule=schedule(wait=1, warmup=0, active=2), on_trace_ready=ready) as prof:
            for _ in range(6):
                with record_function("a step"):
                    step()
                prof.step()
        self.assertEqual(seen, [(2, 2), (5, 2)])

    def test_traces_open_in_viewers(self):
        with tempfile.TemporaryDirectory() as folder:
            with profile(on_trace_ready=tensorboard_trace_handler(folder, "me")):
                training_step()()
            (name,) = os.listdir(folder)
            self.assertRegex(name, r"^me\.\d+\.pt\.trace\.json$")
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                trace = json.load(file)
        self.assertTrue(any(event.get("ph") == "X" and event["dur"] >= 0 for event in trace["traceEvents"]))

    def test_a_range_may_be_a_decorator_and_costs_nothing_outside_of_a_profile(self):
        @record_function("decorated")
        def work():
            return tenon.ones(3).sum().item()

        self.assertEqual(work(), 3)
        with profile() as prof:
            work()
            work()
        self.assertEqual([row.count for row in prof.key_averages() if row.key == "decorated"], [2])

    def test_gives_advice_from_a_profile_and_from_its_file(self):
        step = training_step()
        step()
        with profile() as prof:
            for _ in range(3):
                with record_function("data"):
                    time.sleep(0.05)
                step()
        first = prof.advice()[0]
        self.assertEqual(first.about, "data")
        self.assertGreater(first.share, 0.5)
        self.assertIn("nothing ran on cpu", first.figure)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            prof.export_chrome_trace(path)
            self.assertEqual([one.advice for one in doctor(path)], [one.advice for one in prof.advice()])
            with self.assertRaisesRegex(RuntimeError, "is no profile"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("[]")
                doctor(path)

    def test_writes_a_page(self):
        with profile() as prof:
            training_step()()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            prof.export_page(path, "my step")
            with open(path, encoding="utf-8") as file:
                page = file.read()
        self.assertIn("<h1>my step</h1>", page)
        self.assertIn("What to change", page)

    def test_shows_what_holds_memory(self):
        net = tenon.nn.Linear(64, 64)
        optimizer = tenon.optim.AdamW(net.parameters())
        with profile() as prof:
            net(tenon.rand(8, 64)).sum().backward()
            optimizer.step()
        last = [at for at in prof.memory() if at.device == "cpu"][-1]
        self.assertGreaterEqual(last.weights, 4 * (64 * 64 + 64))
        self.assertGreaterEqual(last.moments, 2 * 4 * (64 * 64 + 64))

    def test_says_that_nothing_was_recorded(self):
        with self.assertRaisesRegex(RuntimeError, "nothing was recorded"):
            profile().key_averages()


if __name__ == "__main__":
    unittest.main()
