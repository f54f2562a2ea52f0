#!/usr/bin/env python3
"""Compiles files of TypeScript by `tsc --strict`; 77, a skipped test, where tsc is not installed."""

import shutil
import subprocess
import sys

if not shutil.which("tsc"):
    print("tsc is not installed (Debian's node-typescript); run scripts/setup.sh test")
    sys.exit(77)
sys.exit(subprocess.run(["tsc", "--strict", "--noEmit", *sys.argv[1:]]).returncode)
