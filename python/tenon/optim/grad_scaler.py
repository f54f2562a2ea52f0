"""Dynamic loss scaling with PyTorch's calls.

    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()

Whether gradients are finite is looked at on the device alone: a captured step can hold all of this. In fewer kernels,
`scaler.scale(loss).backward()` and `optimizer.step(scaler)` do the same.
"""

import warnings

from .. import _tenon, cuda


class GradScaler(_tenon._optim._GradScaler):
    """Lifts gradients that are too small for float16 by a factor that adapts itself.

    >>> import tenon
    >>> w = tenon.nn.Parameter(tenon.ones(2))
    >>> optimizer, scaler = tenon.optim.SGD([w], lr=0.5), tenon.amp.GradScaler()
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.unscale_(optimizer)
    >>> w.grad
    tensor([1., 1.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach()
    tensor([0.5, 0.5])
    """

    def __init__(self, device=None, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        if enabled and str(device).startswith("cuda") and not cuda.is_available():
            warnings.warn("GradScaler: there is no device cuda; the scaler does nothing", stacklevel=2)
            enabled = False
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, device if enabled else None)
        self._enabled = bool(enabled)
        self._settings = {"growth_factor": growth_factor, "backoff_factor": backoff_factor,
                          "growth_interval": growth_interval}
        self._finite = {}  # of the optimizers whose gradients are unscaled: whether they are finite
        self._stepped = set()

    def is_enabled(self):
        return self._enabled

    def get_scale(self):
        """The factor; reads it from the device."""
        return self.factor() if self._enabled else 1.0

    def scale(self, outputs):
        """A loss, or a list of them, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _tenon.Tensor):
            return self._scale(outputs)
        if not isinstance(outputs, (list, tuple)):
            raise TypeError(f"scale() takes a tensor or a list of them, not {type(outputs).__name__}")
        return type(outputs)(self.scale(one) for one in outputs)

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer by the factor."""
        if not self._enabled:
            return
        if optimizer in self._stepped:
            raise RuntimeError("unscale_() was called after step(); call update() in between")
        if optimizer in self._finite:
            raise RuntimeError("unscale_() was called twice since the last update()")
        if getattr(optimizer, "_keeps_gradients", False):
            raise RuntimeError("unscale_() does not reach gradients that the optimizer keeps; "
                               "use optimizer.clip_grad_norm(norm, scaler) and optimizer.step(scaler)")
        having = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(p.grad.dtype is _tenon.float16 for p in having):
            raise ValueError("gradients in float16 cannot be unscaled: keep the parameters in float32 and use autocast, "
                             "or call optimizer.step(scaler)")
        if having:
            self._finite[optimizer] = self._unscale(having)

    def step(self, optimizer, *args, **kwargs):
        """The optimizer's step, which changes nothing where a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or kwargs:
            raise RuntimeError("step() of a scaler that is enabled takes an optimizer and nothing else, no closure either")
        if optimizer in self._stepped:
            raise RuntimeError("step() was called twice since the last update()")
        if getattr(optimizer, "_keeps_gradients", False):
            optimizer.step(self)  # which updates the factor as well
        else:
            if optimizer not in self._finite:
                self.unscale_(optimizer)
            if optimizer in self._finite:
                self._step_where_finite(optimizer)
        self._stepped.add(optimizer)

    def _step_where_finite(self, optimizer):
        if optimizer._core is not None:
            optimizer.step(when=self._finite[optimizer])
        elif self._finite[optimizer].item():  # one of Python's cannot leave its step to the device
            optimizer.step()

    def update(self, new_scale=None):
        """Halves the factor where a gradient was not finite, and doubles it after many good steps; or sets it."""
        if not self._enabled:
            return
        finite, self._finite, self._stepped = list(self._finite.values()), {}, set()
        if new_scale is not None:
            self._load_numbers({**self._numbers(), "scale": _tenon.tensor(float(new_scale))})
        elif finite:
            self._update(finite)

    def get_growth_factor(self):
        return self._settings["growth_factor"]

    def get_backoff_factor(self):
        return self._settings["backoff_factor"]

    def get_growth_interval(self):
        return self._settings["growth_interval"]

    def state_dict(self):
        """The factor and the good steps since it changed, as tensors."""
        return self._numbers() if self._enabled else {}

    def load_state_dict(self, state):
        """Takes a state over, also one of PyTorch's."""
        if not self._enabled:
            return
        if "_growth_tracker" in state:
            for name, value in self._settings.items():
                if state.get(name, value) != value:
                    raise ValueError(f"[load_state_dict] the state was made with {name}={state[name]}, the scaler with "
                                     f"{name}={value}; make it with the same")
            state = {"scale": _tenon.tensor(float(state["scale"])),
                     "good_steps": _tenon.tensor(int(state["_growth_tracker"]))}
        self._load_numbers(state)
