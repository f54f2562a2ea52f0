"""What bench/run measures: a table of cases, each a program of bench/ with its arguments at three sizes and a reader of
what it prints. Where PyTorch has the same work, the case names the program that does it, under the same names of figures.

A case is a generator of Runs: a command, its environment, and what is read of its output. To add one, write a function
that returns a Case and put it into all_cases(); a program that prints JSON needs no reader of its own.
"""
import dataclasses
import json
import os
import tempfile
from typing import Callable, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SIZES = ("small", "medium", "large")


@dataclasses.dataclass(frozen=True)
class Figure:
    """One measured value. `more` says that more of it is better; `allowed` is the relative loss that is none."""

    bench: str
    case: str
    unit: str
    dtype: str = "f32"
    more: bool = False
    allowed: float = 0.01


class NotHere(Exception):
    """What a case needs is not installed or not built; the message says what."""


@dataclasses.dataclass
class Side:
    """Whose programs run: a build of Tenon with its Python module, or PyTorch."""

    name: str
    build: str
    python: str = "python3"
    is_torch: bool = False

    def program(self, name):
        path = os.path.join(self.build, "bin", name)
        if not os.path.exists(path):
            raise NotHere(f"{path} is not built")
        return path


@dataclasses.dataclass
class Setting:
    """Of a whole run."""

    size: str
    device: str
    threads: int
    folder: str  # temporary
    torch_device: str = "cpu"
    start: Callable = None  # runs a command: (command, environment) -> standard output

    @property
    def place(self):
        """The device of rows: a run with other threads than the machine has cores is another thing."""
        return self.device if self.threads == os.cpu_count() else f"{self.device}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def environment(self, **more):
        return {"TENON_DEVICE": self.device, "TENON_THREADS": str(self.threads), "OMP_NUM_THREADS": str(self.threads), **more}

    def at(self, small, medium, large):
        return {"small": small, "medium": medium, "large": large}[self.size]


@dataclasses.dataclass
class Case:
    name: str
    tenon: Callable  # (side, setting) -> {Figure: value}
    torch: Optional[Callable] = None
    torch_once: bool = False  # it takes long: one round


def lines(text):
    """The JSON objects among the lines of an output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


# --- A training step of GPT-2: time, memory, host time, first step -------------------------------------------------------

MODELS = {"small": dict(layers=2, width=256, heads=4, vocab=8192, batch=2, time=64),
          "medium": dict(layers=6, width=768, heads=12, vocab=50257, batch=4, time=128),
          "large": dict(layers=12, width=768, heads=12, vocab=50257, batch=8, time=256)}
ON_GPU = {"small": dict(layers=4, width=256, heads=4, vocab=8192, batch=16, time=256),
          "medium": dict(layers=6, width=768, heads=12, vocab=50257, batch=8, time=1024),
          "large": dict(layers=12, width=768, heads=12, vocab=50257, batch=32, time=1024)}


def gpt2(dtype):
    def sizes(setting):
        return (MODELS if setting.device == "cpu" else ON_GPU)[setting.size]

    def figures(shape, out, is_cpu):
        case = "step, {layers} layers of {width}, {batch} x {time}".format(**shape)
        found = {Figure("gpt2", case, "ms", dtype): out["ms"],
                 Figure("gpt2", f"{case}: memory", "MiB", dtype, allowed=0.02): out["peak_rss_MiB" if is_cpu else "device_MiB"]}
        if is_cpu and "cpu_ms" in out:  # builds of before have none
            found[Figure("gpt2", f"{case}: processor", "ms", dtype)] = out["cpu_ms"]
        return case, found

    def tenon(side, setting):
        shape = sizes(setting)
        command = [side.program("gpt2_bench"), "--steps", str(setting.at(18, 12, 9))] + (["--bf16"] if dtype == "bf16" else [])
        for name, value in shape.items():
            command += [f"--{name}", str(value)]
        with tempfile.TemporaryDirectory(dir=setting.folder) as caches:  # those of Tenon and of the drivers
            environment = setting.environment(TENON_CACHE_DIR=os.path.join(caches, "tenon"), POCL_CACHE_DIR=os.path.join(caches, "pocl"),
                                              CUDA_CACHE_PATH=os.path.join(caches, "cuda"), MESA_SHADER_CACHE_DIR=os.path.join(caches, "mesa"))
            for name in ("tenon", "pocl", "cuda", "mesa"):
                os.mkdir(os.path.join(caches, name))
            out = lines(setting.start(command, environment))[-1]
            again = lines(setting.start(command + ["--steps", "2"], environment))[-1]
        case, found = figures(shape, out, setting.device == "cpu")
        found[Figure("gpt2", f"{case}: first step, no cache", "ms", dtype)] = out["first_step_s"] * 1e3
        found[Figure("gpt2", f"{case}: first step, disk cache", "ms", dtype)] = again["first_step_s"] * 1e3
        found[Figure("gpt2", f"{case}: host time", "us", dtype)] = out["host_us"]
        return found

    def torch(side, setting):
        shape = sizes(setting)
        given = shape | dict(kind="gpt2", kv_heads=shape["heads"], inner=4 * shape["width"], mode="eager" if setting.torch_device == "cpu" else "default",
                             steps=setting.at(18, 12, 9), device=setting.torch_device, bf16=dtype == "bf16", threads=setting.threads)
        if setting.torch_device != "cpu":
            given["vocab"] = (given["vocab"] + 63) // 64 * 64  # whole tiles, as PyTorch's own examples have them
        out = lines(setting.start([side.python, os.path.join(HERE, "torch", "torch_models.py"), json.dumps(given)], setting.environment()))[-1]
        return figures(shape, out | {"device_MiB": out["peak_MiB"]}, setting.torch_device == "cpu")[1]

    return Case(f"gpt2 {dtype}", tenon, torch)


# --- Images, recurrent layers, the DQN: programs that print a line for each work ------------------------------------------


def by_work(bench, program, torch_script, filters):
    def read(out):
        found = {}
        for line in lines(out):
            if "ms" not in line:
                continue
            name = line["work"].split(" (")[0]
            dtype = "bf16" if name.endswith("bf16") else "f32"
            clock = line["clock_us"] * 1e-3 if "clock_us" in line else line["ms"]
            found[Figure(bench, name, "ms", dtype)] = clock
            processor = line.get("cpu_ms", line["ms"] if "clock_us" in line else None)
            if processor is not None:
                found[Figure(bench, f"{name}: processor", "ms", dtype)] = processor
            if line.get("device_MiB") and line.get("device") != "cpu":
                found[Figure(bench, f"{name}: memory", "MiB", dtype, allowed=0.02)] = line["device_MiB"]
            for key, unit in (("moves_per_second", "moves/s"), ("episodes_per_second", "episodes/s")):
                if key in line:
                    found[Figure(bench, f"{name}: rate", unit, dtype, more=True)] = line[key]
        return found

    def wanted(setting):
        return filters[setting.size] if setting.device == "cpu" or setting.size == "small" else [""]

    def tenon(side, setting):
        found = {}
        for one in wanted(setting):
            found |= read(setting.start([side.program(program)] + ([one] if one else []), setting.environment()))
        if bench == "dqn":
            step = next((value for figure, value in found.items() if figure.case == "DQN, a batch drawn and learned"), None)
            if step:
                found[Figure(bench, "DQN, steps of learning", "steps/s", more=True)] = 1e3 / step
        return found

    def torch(side, setting):
        found, script = {}, os.path.join(HERE, "torch", torch_script)
        where = ["cpu", str(setting.threads)] if setting.torch_device == "cpu" else ["gpu"]
        for one in wanted(setting):
            found |= read(setting.start([side.python, script, *where] + ([one] if one else []), setting.environment()))
        return found

    return Case(bench, tenon, torch)


# --- Google Benchmark -----------------------------------------------------------------------------------------------------


def google(bench, program, filters, seconds, torch=None):
    def tenon(side, setting):
        command = [side.program(program), "--benchmark_format=json", f"--benchmark_min_time={seconds}", f"--benchmark_filter={filters[setting.size]}"]
        found = {}
        for row in json.loads(setting.start(command, setting.environment()))["benchmarks"]:
            scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[row["time_unit"]]
            name = row["run_name"].removesuffix("/real_time")
            dtype = "bf16" if name.endswith("_bf16") else "f32"
            found[Figure(bench, name, "us", dtype)] = row["real_time"] * scale
            if bench == "host":  # the calling thread's; of the others there is no count
                found[Figure(bench, f"{name}: processor", "us", dtype)] = row["cpu_time"] * scale
        return found

    return Case(bench, tenon, torch, torch_once=True)


def ops_of_torch(side, setting):
    if setting.size == "small" or setting.torch_device != "cpu":
        raise NotHere("PyTorch's table of ops is run at medium and large, on the cpu")
    out = setting.start([side.python, os.path.join(HERE, "torch", "torch_gpt2.py"), "cpu-ops", str(setting.threads)], setting.environment())
    return {Figure("ops", name, "us", "bf16" if name.endswith("_bf16") else "f32"): value
            for name, value in lines(out)[-1].items() if isinstance(value, (int, float)) and name != "threads"}


def gpu_ops():
    def tenon(side, setting):
        if setting.device == "cpu":
            raise NotHere("gpu_bench is for GPUs")
        sizes = setting.at(["softmax", "1024", "1024", "8192"], [], [])
        out = lines(setting.start([side.program("gpu_bench"), setting.device, *sizes], setting.environment()))[-1]
        return {Figure("gpu ops", name, "us", "bf16" if "bf16" in name else "f32"): value
                for name, value in out.items() if isinstance(value, (int, float)) and name != "threads"}

    return Case("gpu ops", tenon)


# --- Text and data: a corpus made once for all sides -----------------------------------------------------------------------


def corpus(side, setting, megabytes):
    path = os.path.join(setting.folder, f"stories-{megabytes}.txt")
    if not os.path.exists(path):
        setting.start([side.program("tenon"), "data", "stories", "--megabytes", str(megabytes), "--out", path], {})
    return path


def tokenizer_of(side, setting, text):
    folder = os.path.join(setting.folder, "tokenizer")
    if not os.path.exists(folder):
        setting.start([side.program("tenon"), "tokenize", "--train", text, "--vocabulary", "4096", "--out", folder], {})
    return folder


def tokenizer():
    def tenon(side, setting):
        text = corpus(side, setting, setting.at(2, 8, 32))
        out = lines(setting.start([side.program("tokenizer_bench"), tokenizer_of(side, setting, text), text, "--rounds", "3"], {}))[-1]
        trained = lines(setting.start([side.program("tokenizer_bench"), "--train", text, "--vocabulary", "4096"], {}))[-1]
        rate = lambda case, key: (Figure("tokenizer", f"encode, {case}", "MB/s", "-", more=True), out[key])
        return dict([rate("1 thread", "MB_s_1"), rate("2 threads", "MB_s_2"), rate("processor", "MB_s_processor")]) | {
            Figure("tokenizer", "train a BPE of 4096, processor", "s", "-"): trained["s_processor"]}

    return Case("tokenizer", tenon)


def data():
    def tenon(side, setting):
        command = [side.program("data_bench"), "--json", "--megabytes", str(setting.at(1, 8, 32)), "--threads", str(setting.threads)]
        return {Figure("data", line["work"], line["unit"], "-", more=True): line["value"] for line in lines(setting.start(command, setting.environment()))}

    return Case("data", tenon)


PRESETS = {"small": [("wiki_performance_tuned", 8)], "medium": [("wiki_performance_tuned", 32), ("wiki_cache_optimized", 32)],
           "large": [("wiki_performance_tuned", 32), ("wiki_cache_optimized", 32), ("wiki_base", 16)]}


def presets():
    def tenon(side, setting):
        found = {}
        text = corpus(side, setting, setting.at(2, 8, 32))
        tokens = tokenizer_of(side, setting, text)
        for name, batch in PRESETS[setting.size]:
            with tempfile.TemporaryDirectory(dir=setting.folder) as folder:
                keys = {"data.train": text, "training.steps": 12, "training.batch_size": batch, "training.log_every": 3,
                        "training.eval_every": 1000000, "checkpoint.every": 1000000, "schedule.warmup_steps": 2}
                command = [side.program("tenon"), "train", name, "--quiet", "--vocab", tokens, "--out", os.path.join(folder, "run")]
                for key, value in keys.items():
                    command += ["--set", f"{key}={value}"]
                setting.start(command, setting.environment())
                with open(os.path.join(folder, "run", "metrics.jsonl"), encoding="utf-8") as metrics:
                    steps = [line for line in map(json.loads, metrics) if "tokens_per_second" in line]
            rates = sorted(line["tokens_per_second"] for line in steps[1:] or steps)  # the first has the compiling
            found[Figure("train", f"{name}, batch {batch}", "tokens/s", "preset", more=True)] = rates[len(rates) // 2]
        return found

    return Case("train", tenon)


def generate():
    def tenon(side, setting):
        new = setting.at(8, 64, 128)
        out = lines(setting.start([side.program("generate_bench"), "--new", str(new), "--rounds", str(setting.at(1, 3, 3))], setting.environment()))[-1]
        return {Figure("generate", "GPT-2 124M, prompt of 32", "tokens/s", more=True): out["tokens_s"]}

    return Case("generate", tenon)


# --- Python, and files -----------------------------------------------------------------------------------------------------


FEW_LOOPS = ["small ops", "carried state"]
SOME_LOOPS = FEW_LOOPS + ["makemore", "varying lengths"]
LOOPS = {"small": FEW_LOOPS, "medium": SOME_LOOPS, "large": SOME_LOOPS + ["word_language_model", "small reads", "collate", "round"]}


def python():
    def measured(side, setting, library):
        script = os.path.join(HERE, "python_bench.py")
        path = {} if side.is_torch else {"PYTHONPATH": os.path.join(side.build, "python")}
        environment = setting.environment(**path) | {"TENON_THREADS": "1", "OMP_NUM_THREADS": "1", "TENON_DEVICE": "cpu"}
        found = {Figure("python", f"call: {name}", "us"): value
                 for name, value in lines(setting.start([side.python, script, "--only", library], environment))[-1].items()}
        for loop in LOOPS[setting.size]:
            out = setting.start([side.python, script, "--only", f"{library}:{loop}"], environment)
            found[Figure("python", f"loop: {loop}: processor", "ms")] = float(out.split()[-1])
        return found

    def tenon(side, setting):
        if not os.path.exists(os.path.join(side.build, "python", "tenon")):
            raise NotHere(f"{side.build}/python/tenon is not built (make python)")
        found = measured(side, setting, "tenon")
        environment = setting.environment(PYTHONPATH=os.path.join(side.build, "python"))
        out = setting.start([side.python, os.path.join(HERE, "python_bench.py"), "--only", "mlp"], environment)
        return found | {Figure("python", "captured step, mlp", "us"): float(out.split()[-1])}

    return Case("python", tenon, lambda side, setting: measured(side, setting, "torch"))


def files():
    def tenon(side, setting):
        found = {}
        for name in ("bin/tenon", "lib/libtenon.a", "lib/libtenon.so", "python/tenon/_tenon.so"):
            path = os.path.join(side.build, name)
            if os.path.exists(path):
                found[Figure("files", os.path.basename(name), "MB", "-", allowed=0.05)] = os.path.getsize(path) / 1e6
        return found

    return Case("files", tenon)


def all_cases():
    return [
        files(),
        gpt2("f32"),
        gpt2("bf16"),
        by_work("vision", "vision_bench", "torch_vision.py",
                {"small": ["mnist", "LSTM"], "medium": ["mnist", "resnet20", "conv2d", "LSTM", "GRU", "resnet50"], "large": [""]}),
        by_work("dqn", "dqn_bench", "torch_vision.py",
                {"small": ["DQN"], "medium": ["DQN", "2048, one random", "first 100"], "large": [""]}),
        google("host", "step_bench", {size: "captured_|checked_mlp|replayed_|view" for size in SIZES}, 0.1),
        google("ops", "ops_bench", {"small": "matmul512_|matmul_512x768x768_|softmax|chain|gelu|layer_norm", "medium": ".*", "large": ".*"}, 0.1, ops_of_torch),
        gpu_ops(),
        tokenizer(),
        data(),
        presets(),
        generate(),
        python(),
    ]


# What a build needs for all of them; some are absent where Google Benchmark is.
TARGETS = ["tenon_cli", "gpt2_bench", "vision_bench", "dqn_bench", "tokenizer_bench", "data_bench", "generate_bench", "gpu_bench", "step_bench", "ops_bench"]
