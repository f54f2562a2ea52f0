#!/usr/bin/env bash
# Runs the tests of the Python module: test_python.sh FOLDER_OF_PACKAGE [PYTHON]
#
# Unit tests, the examples in docstrings, the examples of examples/python, the stubs under mypy, the notebook, the programs
# of the guide. What needs something that is not there is skipped by name.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

package=$(realpath "$1")
python=${2:-/usr/bin/python3}
export PYTHONPATH=$package
failed=0

run() {
  echo "testing $1"
  "${@:2}" || { echo "$1: failed"; failed=$((failed + 1)); }
}

run "tests/python" "$python" tests/python/run.py
run "the programs of the guide" "$python" scripts/check_guide.py python "$python"
if "$python" -c 'import mypy' 2>/dev/null; then
  run "the stubs" "$python" tests/python/check_stubs.py
else
  echo "the stubs: skipped, mypy is not installed"
fi
echo "python: $([[ $failed == 0 ]] && echo all passed || echo "$failed failed")"
((failed == 0))
