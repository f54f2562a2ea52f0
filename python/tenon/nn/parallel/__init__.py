"""Models on several devices, as far as programs for one device ask for them."""

from ..module import Module


class DataParallel(Module):
    """A model under the name `module`, called as it is: on one device, which is what PyTorch does with one GPU."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"DataParallel runs on one device, not on {len(device_ids)}")
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


class DistributedDataParallel(Module):
    """Not there: programs that train in one process only import it."""

    def __init__(self, *_, **__):
        raise RuntimeError("DistributedDataParallel needs several processes, which Tenon does not have; train the model itself")
