"""The history of measurements: bench/history/MACHINE.jsonl, one line of JSON for each run, the oldest first.

A line that cannot be read, or says something impossible, is reported once and left out; the others count, and nothing ever
rewrites a file: a run is appended.
"""
import datetime
import json
import os
import platform
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "history")
FORMAT = 1
LONGEST_LINE = 4 << 20
TEXTS = ("bench", "case", "device", "dtype", "size", "unit")
NUMBERS = ("median", "spread")
MAYBE_NUMBERS = ("torch", "torch_spread", "ratio")


class Damaged(Exception):
    pass


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1e300


def check_text(value, what, most=300):
    if not isinstance(value, str) or len(value) > most or any(ord(c) < 32 for c in value):
        raise Damaged(f"{what} is no line of text")


def check_machine(machine):
    check_text(machine.get("name"), "the machine's name")
    for name in ("cpu", "os"):
        check_text(machine.get(name, ""), f"the machine's {name}")
    if not is_number(machine.get("cores", 0)):
        raise Damaged("the machine's cores are no number")
    for name in ("isa", "devices"):
        if not isinstance(machine.get(name, []), list):
            raise Damaged(f"the machine's {name} are no list")
    for flag in machine.get("isa", []):
        check_text(flag, "an instruction set")
    for device in machine.get("devices", []):
        if not isinstance(device, dict):
            raise Damaged("a device is no object")
        check_text(device.get("name"), "a device's name")
        check_text(device.get("description", ""), "a device's description", 1000)


def check_row(row):
    if not isinstance(row, dict):
        raise Damaged("a row is no object")
    for name in TEXTS:
        check_text(row.get(name), f"a row's {name}")
    for name in NUMBERS:
        if not is_number(row.get(name)):
            raise Damaged(f"{name} of {row['bench']} / {row['case']} is no number from 0")
    for name in MAYBE_NUMBERS:
        if row.get(name) is not None and not is_number(row[name]):
            raise Damaged(f"{name} of {row['bench']} / {row['case']} is no number from 0")
    if not isinstance(row.get("rounds"), int) or isinstance(row["rounds"], bool) or row["rounds"] < 1:
        raise Damaged(f"rounds of {row['bench']} / {row['case']} are no count")
    if not isinstance(row.get("more", False), bool):
        raise Damaged(f"more of {row['bench']} / {row['case']} is neither true nor false")


def parsed(line):
    """A run, or Damaged with one line that says why it is none."""
    if len(line) > LONGEST_LINE:
        raise Damaged(f"the line has {len(line)} characters, the most are {LONGEST_LINE}")
    try:
        run = json.loads(line)
        json.dumps(run, ensure_ascii=False).encode()  # halves of characters cannot be shown
    except (ValueError, RecursionError) as error:
        raise Damaged(f"no JSON: {str(error).splitlines()[0][:100]}") from None
    if not isinstance(run, dict):
        raise Damaged("no object")
    if run.get("format") != FORMAT:
        raise Damaged(f"format {json.dumps(run.get('format'))[:40]}, this version reads {FORMAT}")
    if not isinstance(run.get("machine"), dict):
        raise Damaged("machine is no object")
    check_machine(run["machine"])
    for name in ("commit", "size"):
        check_text(run.get(name), name)
    check_text(run.get("note", ""), "note", 2000)
    check_text(run.get("version", ""), "version")
    check_text(run.get("torch") or "", "torch")
    if not isinstance(run.get("dirty"), bool):
        raise Damaged("dirty is neither true nor false")
    try:
        run["when"] = datetime.datetime.strptime(run.get("date"), "%Y-%m-%dT%H:%M:%SZ")
    except (TypeError, ValueError):
        raise Damaged("date is no date as 2026-11-20T01:02:03Z") from None
    if not isinstance(run.get("rows"), list):
        raise Damaged("rows are no list")
    for row in run["rows"]:
        check_row(row)
    return run


def read(path, report):
    """The runs of a file, oldest first as they lie; `report` is called with one line for each damaged one."""
    runs = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                runs.append(parsed(line))
            except Damaged as why:
                report(f"{path}:{number}: left out: {why}")
    return runs


def read_folder(folder, report):
    """The runs of all machines: {file name without ending: runs}."""
    if not os.path.isdir(folder):
        return {}
    return {name[:-6]: read(os.path.join(folder, name), report) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")}


def append(path, run):
    """In one write of a whole line, and behind a line end, where another program's line was cut off."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    line = json.dumps(run, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    parsed(line)  # what cannot be read again is not written
    with open(path, "a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def key(row):
    """What is compared with each other."""
    return tuple(row[name] for name in TEXTS)


# --- Where and of what a run is ------------------------------------------------------------------------------------------------


def output(command, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def cpu():
    """Name and instruction sets, as the kernel tells them."""
    listed = dict(re.findall(r"^([\w() -]+?)\s*:\s*(.*)$", output(["lscpu"], env=dict(os.environ, LC_ALL="C")), re.M))
    known = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile", "asimd", "bf16", "i8mm", "sve", "sve2")
    return listed.get("Model name") or platform.processor() or platform.machine(), [flag for flag in known if flag in listed.get("Flags", "").split()]


def machine(tenon):
    """`tenon` is the command line, which knows the devices."""
    name, flags = cpu()
    devices = []
    try:
        for device in json.loads(output([tenon, "info", "--json"]))["devices"]:
            if not device["for_tests"] and device["name"] != "cpu":
                devices.append({"name": device["name"], "description": device["description"]})
    except (ValueError, KeyError):
        pass
    cores = os.cpu_count()
    slug = re.sub(r"[^a-z0-9.]+", "-", f"{name} {cores} cores {platform.machine()}".lower().replace("(r)", "")).strip("-")
    return {"name": slug, "cpu": name, "cores": cores, "isa": [platform.machine(), *flags], "os": f"{platform.system()} {platform.release()}",
            "memory_GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1), "devices": devices}


def commit(root):
    """Of the sources; a build that is older than they are is not noticed."""
    git = ["git", "-C", root]
    return {"commit": output([*git, "rev-parse", "HEAD"]) or "unknown", "version": output([*git, "describe", "--tags", "--always"]) or "unknown",
            "dirty": bool(output([*git, "status", "--porcelain", "--untracked-files=no"]))}
