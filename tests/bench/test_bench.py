"""bench/run, bench/gate and bench/report on made-up programs and histories: what is a loss, what is drawn, what is refused."""

import contextlib
import html.parser
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import stat
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True

import history  # noqa: E402
import noise  # noqa: E402


def content(path):
    with open(path, "rb") as file:
        return file.read()


def script(name):
    """A program of bench/ as a module."""
    path = os.path.join(BENCH, name)
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rounds_of(random_, count, factor=1.0, sigma=0.02):
    """A busy machine: the whole round is slower or faster, runs differ, and every tenth is disturbed."""
    sides = ([], [], [])
    for _ in range(count):
        hour = random_.lognormvariate(0, 0.1)
        for side, of in zip(sides, (1.0, 1.0, factor)):
            disturbed = 1 + random_.uniform(0.1, 0.5) if random_.random() < 0.1 else 1
            side.append(10 * of * hour * random_.lognormvariate(0, sigma) * disturbed)
    return sides


def is_loss(random_, factor, sigma=0.01, **options):
    """As bench/gate decides: suspected, and found again in rounds of its own."""
    if not noise.judge(*rounds_of(random_, 7, factor, sigma), errors=noise.SUSPECT, **options).is_loss:
        return False
    return noise.judge(*rounds_of(random_, 14, factor, sigma), **options).is_loss


class Noise(unittest.TestCase):
    def test_a_loss_of_five_percent_is_found(self):
        for sigma, of_a_hundred in ((0.005, 85), (0.01, 80)):
            random_ = random.Random(1)
            self.assertGreaterEqual(sum(is_loss(random_, 1.05, sigma) for _ in range(200)), 2 * of_a_hundred, sigma)

    def test_the_same_build_twice_is_no_loss(self):
        for sigma in (0.005, 0.02, 0.1):
            random_ = random.Random(2)
            self.assertLessEqual(sum(is_loss(random_, 1.0, sigma) for _ in range(1000)), 1, sigma)

    def test_a_gain_is_no_loss(self):
        random_ = random.Random(3)
        self.assertFalse(any(is_loss(random_, 0.9) for _ in range(200)))

    def test_less_of_what_more_is_better_of_is_a_loss(self):
        random_ = random.Random(4)
        self.assertGreater(sum(is_loss(random_, 0.94, more=True) for _ in range(100)), 85)
        self.assertFalse(any(is_loss(random_, 1.06, more=True) for _ in range(100)))

    def test_a_figure_may_allow_a_loss(self):
        before, after = [100.0] * 5, [104.0] * 5
        self.assertTrue(noise.judge(before, before, after).is_loss)
        self.assertFalse(noise.judge(before, before, after, allowed=0.05).is_loss)

    def test_two_runs_that_differ_widen_the_margin(self):
        after = [10.5] * 7
        quiet = noise.judge([10.0] * 7, [10.0] * 7, after)
        busy = noise.judge([9.0, 11, 9, 11, 9, 11, 9], [11.0, 9, 11, 9, 11, 9, 11], after)
        self.assertTrue(quiet.is_loss)
        self.assertFalse(busy.is_loss)
        self.assertGreater(busy.noise, 0.1)

    def test_figures_of_zero_are_equal(self):
        self.assertFalse(noise.judge([0.0] * 3, [0.0] * 3, [0.0] * 3).is_loss)
        self.assertTrue(noise.judge([0.0] * 3, [0.0] * 3, [1.0] * 3).is_loss)

    def test_two_rounds_are_too_few(self):
        with self.assertRaises(ValueError):
            noise.judge([1, 1], [1, 1], [1, 1])

    def test_a_history_is_compared_within_its_own_error(self):
        now = [1.9, 1.91, 1.89, 1.9]
        self.assertTrue(noise.judge_history(2.0, now, now, 0.005, more=True).is_loss)
        self.assertFalse(noise.judge_history(2.0, now, now, 0.03, more=True).is_loss)
        self.assertFalse(noise.judge_history(1.9, now, now, 0.005, more=True).is_loss)

    def test_quartiles_are_interpolated(self):
        self.assertAlmostEqual(noise.quartiles_apart([1, 2, 3, 4, 5]), 2)
        self.assertEqual(noise.quartiles_apart([7]), 0)


def run_of(date="2026-11-20T01:02:03Z", commit="a" * 40, machine="box", median=1.5, **more):
    row = {"bench": "dqn", "case": "DQN network", "device": "cpu", "dtype": "f32", "size": "small", "unit": "ms", "median": median, "spread": 0.1,
           "rounds": 3, "torch": 3.0, "torch_spread": 0.2, "ratio": 3.0 / median}
    return {"format": 1, "machine": {"name": machine, "cpu": "Chip", "cores": 2, "isa": ["x86_64"], "os": "Linux 6", "devices": []}, "commit": commit,
            "version": "v0.1.0", "dirty": False, "date": date, "size": "small", "torch": "2.15.0", "note": "", "rows": [row]} | more


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "box.jsonl")

    def read(self):
        told = []
        return history.read(self.path, told.append), told

    def test_what_is_appended_is_read(self):
        for median in (1.0, 2.0):
            history.append(self.path, run_of(median=median))
        runs, told = self.read()
        self.assertEqual([run["rows"][0]["median"] for run in runs], [1.0, 2.0])
        self.assertEqual(told, [])

    def test_damaged_lines_are_one_message_each_and_the_others_count(self):
        hostile = ["{", "[]", "null", "1e999", '{"format": 2}', "[" * 100000, json.dumps(run_of(date="yesterday")), json.dumps(run_of(rows=[{}])),
                   json.dumps(run_of(median=-1)), json.dumps(run_of(median=1)).replace('"median": 1,', '"median": NaN,'),
                   json.dumps(run_of(median=1)).replace('"median": 1,', '"median": 1' + "0" * 400 + ","), json.dumps(run_of(machine="\ud800")),
                   json.dumps(run_of(note={"a": 1})), json.dumps(run_of(dirty="no")), json.dumps(run_of()).replace('"cores": 2', '"cores": "many"'),
                   json.dumps(run_of()).replace('"isa": ["x86_64"]', '"isa": 7'), json.dumps(run_of()).replace('"devices": []', '"devices": [1]'),
                   json.dumps(run_of(commit="a\nb")), "\x00\xff"]
        good = json.dumps(run_of())
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(good + "\n" + "\n".join(hostile) + "\n\n" + good)
        runs, told = self.read()
        self.assertEqual(len(runs), 2)
        self.assertEqual(len(told), len(hostile), told)
        for number, line in enumerate(told, 2):
            self.assertTrue(line.startswith(f"{self.path}:{number}: left out: "), line)
            self.assertNotIn("\n", line)
            self.assertLess(len(line), len(self.path) + 200)

    def test_a_run_does_not_join_a_line_that_was_cut_off(self):
        history.append(self.path, run_of(median=1.0))
        with open(self.path, "a", encoding="utf-8") as file:
            file.write('{"format": 1, "mach')
        before = content(self.path)
        history.append(self.path, run_of(median=2.0))
        runs, told = self.read()
        self.assertEqual([run["rows"][0]["median"] for run in runs], [1.0, 2.0])
        self.assertEqual(len(told), 1)
        self.assertTrue(content(self.path).startswith(before))

    def test_what_could_not_be_read_again_is_not_written(self):
        history.append(self.path, run_of())
        before = content(self.path)
        for run in (run_of(median=-1), run_of(median=float("nan")), run_of(commit=None)):
            with self.assertRaises((history.Damaged, ValueError)):
                history.append(self.path, run)
        self.assertEqual(content(self.path), before)


class Page(html.parser.HTMLParser):
    """What a page is made of; fails where an element is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.setdefault(tag, []).append(dict(attrs))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.setdefault(tag, []).append(dict(attrs))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise ValueError(f"{tag} is closed where {self.open} are open")

    def handle_data(self, data):
        self.words.append(data)


class Report(unittest.TestCase):
    def page(self, machines):
        for runs in machines.values():
            for i, run in enumerate(runs):
                runs[i] = history.parsed(json.dumps(run))
        text = script("report").page(machines)
        page = Page(text)
        self.assertEqual(page.open, [])
        return text, page

    def test_machines_are_kept_apart(self):
        _, page = self.page({"box": [run_of()], "other": [run_of(machine="other")]})
        self.assertEqual([head["id"] for head in page.seen["h2"]], ["box", "other"])
        self.assertEqual(len(page.seen["table"]), 2)
        self.assertEqual(len(page.seen["svg"]), 2)

    def test_a_curve_goes_from_the_oldest_to_the_newest(self):
        runs = [run_of(date=f"2026-11-{day}T00:00:00Z", median=median) for day, median in (("21", 4.0), ("19", 1.0), ("20", 2.0))]
        text, page = self.page({"box": runs})
        mine = next(line for line in page.seen["polyline"] if line["class"] == "mine")
        heights = [float(point.split(",")[1]) for point in mine["points"].split()]
        self.assertEqual(len(heights), 3)
        self.assertGreater(heights[0], heights[1])  # y grows downwards
        self.assertGreater(heights[1], heights[2])
        self.assertIn("+100.0", text)  # 4 after 2

    def test_it_needs_no_network(self):
        text, page = self.page({"box": [run_of()]})
        for tag, attributes in page.seen.items():
            for one in attributes:
                self.assertNotIn("src", one, tag)
                self.assertTrue(one.get("href", "#").startswith("#"), tag)
        self.assertNotIn("@import", text)
        self.assertNotIn("url(", text)

    def test_it_has_both_colour_schemes_and_fits_small_screens(self):
        text, page = self.page({"box": [run_of()]})
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertTrue(any(meta.get("name") == "viewport" for meta in page.seen["meta"]))
        self.assertTrue(any(head.get("scope") == "col" for head in page.seen["th"]))

    def test_names_are_text_and_no_markup(self):
        evil = '<script>alert(1)</script>"\'&@MACHINES@'
        run = run_of(note=evil, commit=evil, version=evil)
        run["rows"][0] |= {"case": evil, "unit": evil}
        run["machine"] |= {"name": evil, "cpu": evil, "devices": [{"name": evil, "description": evil}]}
        _, page = self.page({evil: [run, json.loads(json.dumps(run))]})
        self.assertEqual(len(page.seen["script"]), 1)  # the page's own
        self.assertEqual(page.seen["h2"][0]["id"], evil)

    def test_it_draws_nothing_and_zeros(self):
        text, _ = self.page({})
        self.assertIn("No run yet", text)
        self.page({"box": [run_of(median=1.0)], "empty": [run_of(rows=[])]})
        zero = run_of()
        zero["rows"][0] |= {"median": 0, "spread": 0, "torch": None, "ratio": None}
        self.page({"box": [zero, json.loads(json.dumps(zero))]})

    def test_the_program_reports_damaged_lines_and_draws_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            history.append(os.path.join(folder, "box.jsonl"), run_of())
            with open(os.path.join(folder, "box.jsonl"), "a", encoding="utf-8") as file:
                file.write("{\n")
            out = os.path.join(folder, "page.html")
            done = subprocess.run([sys.executable, os.path.join(BENCH, "report"), "--history", folder, "--out", out], capture_output=True, text=True, check=True)
            self.assertIn("box.jsonl:2: left out: no JSON", done.stdout)
            self.assertIn("1 runs of 1 machines", done.stdout)
            self.assertIn("DQN network", content(out).decode())


PROGRAM = """#!{python}
import json, random, sys
random.seed()
clock = {us} * random.lognormvariate(0, 0.005)
if sys.argv[1:] == ["info", "--json"]: print(json.dumps({{"devices": []}}))
else: print(json.dumps({{"work": "DQN network, one row", "ms": clock * 1e-3, "processor_us": clock, "clock_us": clock}}))
"""


class Programs(unittest.TestCase):
    """bench/gate and bench/run with builds whose programs print what they are told to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def build(self, name, microseconds, programs=("tenon", "dqn_bench")):
        for program in programs:
            path = os.path.join(self.folder, name, "bin", program)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(python=sys.executable, us=microseconds))
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return os.path.join(self.folder, name)

    def gate(self, *arguments):
        done = subprocess.run([sys.executable, os.path.join(BENCH, "gate"), "--only", "dqn", "--rounds", "5", "--python", "/no/such/python", *arguments],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_the_gate_finds_a_slower_build(self):
        status, out, err = self.gate("--before", self.build("a", 100), "--build", self.build("b", 108))
        self.assertEqual(status, 1, out + err)
        self.assertIn("LOSS", out)

    def test_the_gate_lets_an_equal_build_pass(self):
        status, out, err = self.gate("--before", self.build("a", 100), "--build", self.build("b", 100))
        self.assertEqual(status, 0, out + err)
        self.assertIn("0 losses in", out)

    def test_a_program_that_is_gone_is_a_loss(self):
        status, out, err = self.gate("--before", self.build("a", 100), "--build", self.build("b", 100, ["tenon"]))
        self.assertEqual(status, 1, out + err)
        self.assertIn("measured before and not after", out)

    def test_a_program_that_fails_after_its_first_round_is_a_loss(self):
        before, after = self.build("a", 100), self.build("b", 100)
        path = os.path.join(after, "bin", "dqn_bench")
        with open(path, "a", encoding="utf-8") as file:
            file.write('import os\nif os.path.exists(__file__ + ".ran"): sys.exit("out of memory")\nopen(__file__ + ".ran", "w").close()\n')
        status, out, err = self.gate("--before", before, "--build", after)
        self.assertEqual(status, 1, out + err)
        self.assertIn("out of memory", err)

    def test_nothing_to_compare_is_no_success(self):
        status, out, _ = self.gate("--before", self.build("a", 100, []), "--build", self.build("b", 100, []))
        self.assertEqual(status, 2, out)

    def run_bench(self, build, path):
        return subprocess.run([sys.executable, os.path.join(BENCH, "run"), "--only", "dqn", "--build", build, "--python", "/no/such/python", "--out", path,
                               "--note", "made up"], capture_output=True, text=True, check=False)

    def test_a_run_is_a_line_of_the_history(self):
        path = os.path.join(self.folder, "box.jsonl")
        for _ in range(2):
            done = self.run_bench(self.build("a", 100), path)
            self.assertEqual(done.returncode, 0, done.stderr)
        told = []
        runs = history.read(path, told.append)
        self.assertEqual((len(runs), told), (2, []))
        row = next(row for row in runs[0]["rows"] if row["case"] == "DQN network, one row")
        self.assertEqual((row["rounds"], row["unit"], row["torch"]), (3, "ms", None))
        self.assertAlmostEqual(row["median"], 0.1, delta=0.01)
        self.assertEqual(runs[0]["note"], "made up")

    def test_a_run_that_measures_nothing_writes_nothing(self):
        path = os.path.join(self.folder, "box.jsonl")
        done = self.run_bench(self.build("a", 100, []), path)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(path))

    def test_the_gate_compares_with_a_commit_of_the_history(self):
        build, head = self.build("a", 100), history.output(["git", "-C", BENCH, "rev-parse", "HEAD"])
        if not head:
            self.skipTest("no repository")
        name = history.machine(os.path.join(build, "bin", "tenon"))["name"]
        folder = os.path.join(self.folder, "history")
        rows = [{"bench": "dqn", "case": case, "device": "cpu", "dtype": "f32", "size": "small", "unit": "ms", "spread": 0.0005, "rounds": 5,
                 "torch": None, "ratio": None} for case in ("DQN network, one row", "DQN network, one row: processor")]
        for median, expected in ((0.1, 0), (0.09, 1)):
            history.append(os.path.join(folder, name + ".jsonl"), run_of(commit=head, machine=name, rows=[row | {"median": median} for row in rows]))
            status, out, err = self.gate("--build", build, "--against", "HEAD", "--history", folder)
            self.assertEqual(status, expected, out + err)
        status, out, _ = self.gate("--build", build, "--against", "no-such-commit", "--history", folder)
        self.assertEqual(status, 2)
        self.assertIn("no-such-commit is no commit", out)


class Cases(unittest.TestCase):
    def test_every_case_says_what_it_lacks(self):
        """An empty build: each case is left out by name, and none raises."""
        import cases
        import measure

        told = []
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            setting = cases.Setting("small", "cpu", 1, folder, start=measure.start)
            values = measure.by_turns([case for case in cases.all_cases()], [cases.Side("tenon", folder)], setting, 1, told.append)
        self.assertEqual({figure.bench for figure in values} - {"files"}, set())
        self.assertGreater(sum("is not built" in line for line in told), 8)


if __name__ == "__main__":
    unittest.main()
