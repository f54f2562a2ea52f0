"""The stubs are those of the built module, and mypy finds what is wrong in typed.py and nothing else."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import make_python_stubs  # noqa: E402


def main():
    wrong = []
    for name, text in make_python_stubs.stubs().items():
        with open(os.path.join(ROOT, "python", "tenon", name), encoding="utf-8") as file:
            if file.read() != text:
                wrong.append(f"python/tenon/{name} is not what scripts/make_python_stubs.py python/tenon writes")
    package = os.path.dirname(os.path.dirname(make_python_stubs.tenon.__file__))
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull,
                          os.path.join(HERE, "typed.py")], cwd=HERE, env={**os.environ, "MYPYPATH": package}, text=True,
                         capture_output=True)
    found = {line.split(":")[1] for line in run.stdout.splitlines() if ": error:" in line and "typed.py" in line}
    with open(os.path.join(HERE, "typed.py"), encoding="utf-8") as file:
        expected = {str(i) for i, line in enumerate(file, 1) if "# error:" in line}
    if found != expected or any(".pyi" in line for line in run.stdout.splitlines()):
        wrong.append(f"mypy finds errors in lines {sorted(found)} of typed.py, not {sorted(expected)}:\n{run.stdout}{run.stderr}")
    print("\n".join(wrong) or "the stubs fit")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
