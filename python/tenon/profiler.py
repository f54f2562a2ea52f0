"""Where the time of steps goes, under the names of torch.profiler: kernels, transfers and the host on one clock.

>>> import tenon
>>> from tenon.profiler import profile, record_function
>>> x = tenon.rand(64, 64)
>>> with profile() as prof:
...     with record_function("product"):
...         (x @ x).sum().item() > 0
True
>>> any(row.key == "product" for row in prof.key_averages())
True

`print(prof.key_averages().table())` shows kernels by kind, shape, module and pass; `export_chrome_trace("trace.json")` writes what
chrome://tracing and https://ui.perfetto.dev open, `export_page("profile.html")` a page for a browser, and `advice()` says what to
change; `tenon.profiler.doctor("trace.json")` does for a file. While a profile is recorded, compiled functions run kernel by kernel.
"""

import contextlib
import enum
import os
import socket
import time
import types

from . import _tenon

_profiler = _tenon._profiler


class ProfilerActivity(enum.Enum):
    """What PyTorch is asked to watch; here all devices and the host always are."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What becomes of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    """Steps that are left alone, run to warm up and recorded, in turn; `repeat` times, or for ever."""
    if active < 1 or wait < 0 or warmup < 0 or repeat < 0 or skip_first < 0:
        raise ValueError("schedule() takes 1 active step or more, and no negative numbers")
    cycle = [ProfilerAction.NONE] * wait + [ProfilerAction.WARMUP] * warmup + [ProfilerAction.RECORD] * (active - 1)
    cycle.append(ProfilerAction.RECORD_AND_SAVE)

    def action(step):
        rounds, place = divmod(step - skip_first, len(cycle))
        return ProfilerAction.NONE if rounds < 0 or 0 < repeat <= rounds else cycle[place]

    return action


class record_function(contextlib.ContextDecorator):
    """Names a part of the program, with `with` or as a decorator."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self._range = _profiler.Range(self.name)
        return self

    def __exit__(self, *_failure):
        del self._range


class EventList(list):
    """What ran, added up by name, largest first."""

    def __init__(self, rows, of_library):
        super().__init__(rows)
        self._of_library = of_library

    def table(self, sort_by=None, row_limit=100, **_settings):
        """Kernels by kind, shape, module and pass, and functions of the host; sort_by as in PyTorch: "cuda_time_total", "count" ..."""
        name = sort_by or "total"
        sort = "count" if "count" in name else "total" if "total" in name else "average"
        return self._of_library.table(sort, row_limit)


def _average(row):
    on_device, total, mean = bool(row["device"]), row["total_us"], row["average_us"]
    times = {"device_time_total": total, "device_time": mean} if on_device else {"cpu_time_total": total, "cpu_time": mean}
    made = types.SimpleNamespace(cpu_time_total=0.0, cpu_time=0.0, device_time_total=0.0, device_time=0.0)
    made.__dict__.update(row, **times)
    made.cuda_time_total, made.cuda_time = made.device_time_total, made.device_time
    return made


class profile:
    """Records what runs between start() and stop(), in a with statement, or in the steps that a schedule chooses.

    What PyTorch's takes beside these (record_shapes, with_modules ...) is always there, and may be given.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, **_settings):
        self._schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._of_library = None
        self._is_recording = False

    def _action(self):
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def start(self):
        """Begins, as a with statement does."""
        if self._action() in _RECORDS and not self._is_recording:
            self._of_library, self._is_recording = _profiler.Profile(), True

    def stop(self):
        """Ends it."""
        if not self._is_recording:
            return
        self._of_library.stop()
        self._is_recording = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_failure):
        self.stop()

    def step(self):
        """Says that a step of the program has ended."""
        if self._action() is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        self.step_num += 1
        if self._schedule and self._action() not in _RECORDS:
            self.stop()
        self.start()

    def _recorded(self):
        if self._of_library is None:
            raise RuntimeError("nothing was recorded yet")
        return self._of_library

    def key_averages(self, group_by_input_shape=False, **_settings):
        """Every kernel, transfer and function of the host, added up by name, or by name and shapes."""
        recorded = self._recorded()
        rows = [_average(row) for row in recorded.averages(group_by_input_shape)]
        return EventList(sorted(rows, key=lambda row: row.total_us, reverse=True), recorded)

    def events(self):
        """Everything that ran, in the order in which it began: name, detail, device, module, pass_name, start_us, duration_us ..."""
        return [types.SimpleNamespace(**event) for event in self._recorded().events()]

    def export_chrome_trace(self, path):
        """Writes a time line for chrome://tracing and Perfetto."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._recorded().chrome_trace())

    def export_page(self, path, title=""):
        """Writes one self-contained HTML page: advice, a time line, memory, modules as a flame graph, kernels as a table."""
        self._recorded().save_page(os.fspath(path), title)

    def advice(self):
        """What to change, the most important first: objects with about, advice, figure and share."""
        return [types.SimpleNamespace(**one) for one in self._recorded().advice()]

    def memory(self):
        """What devices hold, from every change on: device, at_us and bytes of weights, moments, gradients, kept_activations, scratch ..."""
        return [types.SimpleNamespace(**one) for one in self._recorded().memory()]


def doctor(path):
    """The advice that a profile in a file, or in the folder of a run, leads to; as profile.advice() gives it."""
    return [types.SimpleNamespace(**one) for one in _profiler.advice_of_file(os.fspath(path))]


def tensorboard_trace_handler(dir_name, worker_name=None):
    """An on_trace_ready that writes each trace into a folder."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(prof):
        os.makedirs(dir_name, exist_ok=True)
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handle
