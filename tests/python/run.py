"""Runs the tests of this folder, or of the files that are named, and says by name what was skipped."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    tests = unittest.TestSuite()
    for name in [os.path.basename(file) for file in sys.argv[1:]] or ["test*.py"]:
        tests.addTests(unittest.defaultTestLoader.discover(HERE, pattern=name, top_level_dir=HERE))
    if not tests.countTestCases():
        sys.exit(f"run.py: no test in {' '.join(sys.argv[1:]) or HERE}")
    result = unittest.TextTestRunner().run(tests)
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    sys.exit(not result.wasSuccessful())
