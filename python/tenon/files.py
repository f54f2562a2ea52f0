"""save() and load(): safetensors, PyTorch's and numpy's files."""

import os

from . import _tenon
from . import checkpoints as _checkpoints

_OTHERS = (".safetensors", ".npy", ".npz")  # any other name is that of a file of PyTorch's


class FileNotFound(_tenon.Error, FileNotFoundError):
    """A file that is not there."""


def save(tensors, path, metadata=None):
    """Writes a tensor or a dict of tensors; what kind of file it is, the end of the name says.

    .safetensors; .npy for one tensor, .npz for several. Any other name, .pt, .ckpt or none, is that of a file which
    torch.load reads. It also takes checkpoints: dicts in dicts and lists, with numbers, texts and None beside the tensors;
    a module is its state dict there. An open file, an io.BytesIO say, gets one of PyTorch's.

    The file is written beside what is there, and takes its place when it is whole. A symbolic link stays one, and what it leads
    to is replaced.
    """
    if isinstance(path, dict) or isinstance(path, _tenon.Tensor):
        tensors, path = path, tensors
    if hasattr(path, "write"):
        return _checkpoints.write(path, tensors.state_dict() if isinstance(tensors, _tenon._nn._Module) else tensors)
    path = os.fsdecode(path)
    kind = os.path.splitext(path)[1]
    path = os.fspath(_tenon._behind_links(path))
    if isinstance(tensors, _tenon._nn._Module):
        if kind == ".safetensors":
            return _tenon._nn.save_module(path, tensors)
        tensors = tensors.state_dict()
    if kind not in _OTHERS:
        return _checkpoints.write(path, tensors)
    if kind == ".npy":
        return _tenon._save_npy(path, tensors)
    if isinstance(tensors, _tenon.Tensor):
        tensors = {"tensor": tensors}
    if not isinstance(tensors, dict):
        raise TypeError(f"a tensor, a dict of tensors or a module is needed, not {type(tensors).__name__}")
    is_flat = all(isinstance(name, str) and isinstance(value, _tenon.Tensor) for name, value in tensors.items())
    if not is_flat:
        raise TypeError("a dict of names and tensors is needed; one that holds other things is saved as a .pt file")
    if kind == ".npz":
        return _tenon._save_npz(path, tensors)
    return _tenon._save_safetensors(path, tensors, metadata or {})


def load(path, device=None, *, map_location=None, weights_only=None, mmap=None):
    """Reads what save(), torch.save() or numpy have written: a dict of tensors, or one tensor of a .npy file.

    A file of PyTorch's gives what was saved: a nested dict, a list, a tensor. An open file is read, too. map_location is PyTorch's name for the device (of its functions and dicts, none is called: tensors
    come to the device that is the default); nothing in a file is ever run, whatever weights_only says. mmap=True leaves tensors of
    the cpu in the file, which takes no memory; nobody may write that file in place then (save() never does).
    """
    if device is None and not callable(map_location) and not isinstance(map_location, dict):
        device = map_location
    if hasattr(path, "read"):
        return _load_open(path, device)
    path = os.fsdecode(path)
    try:
        return _load(path, device, bool(mmap))
    except _tenon.Error as error:
        if os.path.exists(path):
            raise
        raise FileNotFound(str(error)) from None


def _load(path, device, is_mapped=False):
    kind = os.path.splitext(path)[1]
    if kind == ".npy":
        return _tenon._load_npy(path, device, is_mapped)
    if kind == ".npz":
        return _tenon._load_npz(path, device)
    if kind != ".safetensors" and _is_pytorchs(path, kind):
        return _checkpoints.read(path, device, is_mapped)
    return _tenon._load_safetensors(path, device, is_mapped)[0]


def _is_pytorchs(path, kind):
    """By what it begins with: files of any name may hold either."""
    if kind in (".pt", ".pth", ".bin"):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(2).startswith((b"PK", b"\x80"))
    except OSError:
        return False  # the library says what is wrong


def _load_open(file, device):
    """What stands in an open file; the library reads files that have a name."""
    import tempfile

    content = file.read()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError("a file that is open for bytes is needed, not for text")
    start = bytes(content[:6])
    kind = ".npy" if start == b"\x93NUMPY" else ".pt" if start.startswith((b"PK", b"\x80")) else ".safetensors"
    with tempfile.NamedTemporaryFile(suffix=kind) as named:
        named.write(content)
        named.flush()
        try:
            return _load(named.name, device)
        except _tenon.Error as error:
            raise _tenon.Error(str(error).replace(named.name, "an open file")) from None
