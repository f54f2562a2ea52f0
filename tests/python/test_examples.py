"""examples/python, each as a program of its own."""

import glob
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = sorted(glob.glob(os.path.join(ROOT, "examples", "python", "*.py")))


class Examples(unittest.TestCase):
    def test_each_runs(self):
        self.assertEqual(len(PROGRAMS), 6)
        for program in PROGRAMS:
            with self.subTest(os.path.basename(program)):
                run = subprocess.run([sys.executable, program, "--quick"], capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stdout[-2000:] + run.stderr[-2000:])

    def test_gpt2_is_short(self):
        with open(os.path.join(ROOT, "examples", "python", "gpt2.py"), encoding="utf-8") as file:
            self.assertLessEqual(sum(1 for _ in file), 120)


if __name__ == "__main__":
    unittest.main()
