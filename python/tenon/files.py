"""save() and load(): safetensors, PyTorch's and numpy's files."""

import os

from . import _tenon


def save(tensors, path, metadata=None):
    """Writes a tensor or a dict of tensors; what kind of file it is, the end of the name says.

    .safetensors, .pt and .pth (which torch.load reads), .npy for one tensor, .npz for several. Anything else is
    written as safetensors. A module is saved as its state dict.
    """
    if isinstance(path, dict) or isinstance(path, _tenon.Tensor):
        tensors, path = path, tensors
    kind = os.path.splitext(os.fspath(path))[1]
    if isinstance(tensors, _tenon._nn.Module):
        if kind not in (".pt", ".pth"):
            return _tenon._nn.save_module(path, tensors)
        tensors = tensors.state_dict()
    if kind == ".npy":
        return _tenon._save_npy(path, tensors)
    if isinstance(tensors, _tenon.Tensor):
        tensors = {"tensor": tensors}
    if not isinstance(tensors, dict):
        raise TypeError(f"a tensor, a dict of tensors or a module is needed, not {type(tensors).__name__}")
    if kind in (".pt", ".pth"):
        return _tenon._save_torch(path, tensors)
    if kind == ".npz":
        return _tenon._save_npz(path, tensors)
    return _tenon._save_safetensors(path, tensors, metadata or {})


def load(path, device=None):
    """Reads what save(), torch.save() or numpy have written: a dict of tensors, or one tensor of a .npy file."""
    kind = os.path.splitext(os.fspath(path))[1]
    if kind in (".pt", ".pth", ".bin"):
        return _tenon._load_torch(path, device)[0]
    if kind == ".npy":
        return _tenon._load_npy(path, device)
    if kind == ".npz":
        return _tenon._load_npz(path, device)
    return _tenon._load_safetensors(path, device)[0]
