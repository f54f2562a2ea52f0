"""Runs all tests of this folder and says by name what was skipped."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.discover(HERE, top_level_dir=HERE))
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    sys.exit(not result.wasSuccessful())
