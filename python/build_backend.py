"""The build backend of `pip install .` (PEP 517): CMake builds the module, and this file zips the wheel.

Nothing but Python, CMake, ninja and the libraries of the C++ build is needed. Two things can be chosen: TENON_BUILD_DIR, a
build folder to use again, and CMAKE_BUILD_PARALLEL_LEVEL.
"""

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _project():
    """Name, version and description, from the one place where they stand."""
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M).group(1)
            for key in ("name", "version", "description", "requires-python")}


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def _metadata():
    project = _project()
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
            f"Summary: {project['description']}\nRequires-Python: {project['requires-python']}\n"
            "Provides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def _wheel_file():
    return f"Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def _folder_name():
    project = _project()
    return f"{project['name']}-{project['version']}.dist-info"


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = os.path.join(metadata_directory, _folder_name())
    os.makedirs(folder)
    for name, text in (("METADATA", _metadata()), ("WHEEL", _wheel_file())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return _folder_name()


def _build(folder):
    """Runs the same script as `make python`, for the Python that asks: not by its name in an environment that may go."""
    python = os.path.realpath(sys.executable)
    subprocess.run([os.path.join(ROOT, "scripts", "build_python.sh"), folder, python], check=True, cwd=ROOT)
    return os.path.join(folder, "python", "tenon")


def _write_wheel(path, files):
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files:
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
        name = f"{_folder_name()}/RECORD"
        wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), "\n".join(record + [f"{name},,"]) + "\n")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = _project()
    with tempfile.TemporaryDirectory() as temporary:
        package = _build(os.environ.get("TENON_BUILD_DIR") or os.path.join(temporary, "build"))
        files = []
        for folder, folders, names in os.walk(package):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    files.append((os.path.relpath(path, os.path.dirname(package)), file.read()))
    files += [(f"{_folder_name()}/METADATA", _metadata().encode()), (f"{_folder_name()}/WHEEL", _wheel_file().encode())]
    name = f"{project['name']}-{project['version']}-{_tag()}.whl"
    _write_wheel(os.path.join(wheel_directory, name), files)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """All files that git knows."""
    project = _project()
    base = f"{project['name']}-{project['version']}"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    path = os.path.join(sdist_directory, base + ".tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in filter(None, names):
            archive.add(os.path.join(ROOT, name), f"{base}/{name}", recursive=False)
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        text = _metadata().encode()
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    return os.path.basename(path)
