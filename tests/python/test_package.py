"""`pip install .` in a virtual environment, without a package index."""

import os
import subprocess
import sys
import tempfile
import unittest

import tenon

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))


class Package(unittest.TestCase):
    def test_pip_installs_it(self):
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            self.skipTest("python3-venv is not installed")
        if not os.path.exists(os.path.join(BUILD, "CMakeCache.txt")):
            self.skipTest("the package that is tested does not lie in its build folder")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["TENON_BUILD_DIR"] = BUILD
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            python = os.path.join(folder, "bin", "python")
            install = subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet", ROOT], env=environment,
                                     capture_output=True, text=True)
            self.assertEqual(install.returncode, 0, install.stderr[-2000:])
            program = "import tenon, tenon.nn; print(tenon.__file__, (tenon.ones(2) + 1).tolist())"
            run = subprocess.run([python, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
            self.assertIn("[2.0, 2.0]", run.stdout, run.stderr)
            self.assertTrue(os.path.realpath(run.stdout.split()[0]).startswith(os.path.realpath(folder)), run.stdout)
            shown = subprocess.run([python, "-m", "pip", "show", "tenon"], env=environment, capture_output=True, text=True)
            self.assertIn(f"Version: {tenon.__version__}", shown.stdout)
            names = os.listdir(os.path.dirname(run.stdout.split()[0]))
            self.assertTrue({"py.typed", "__init__.pyi", "_tenon.so"} <= set(names), names)


if __name__ == "__main__":
    unittest.main()
