"""RNN, LSTM and GRU over sequences, and single steps of them."""


from .. import _tenon, checks
from . import functional as F
from . import init
from .module import Module, as_parameter, check_sizes
from .rows import kinds_of


class _Recurrent(Module):
    """What the three share: parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, ..."""

    __constants__ = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
                     "nonlinearity")
    _gates = 1

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False,
                 proj_size: int = 0, device=None, dtype=None):
        super().__init__()
        check_sizes(self, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        name = type(self).__name__
        if not 0 <= dropout <= 1:
            raise _tenon.Error(f"[{name}] dropout must lie in 0..1, got {dropout}")
        if proj_size and self._cell != "lstm":
            raise _tenon.Error(f"[{name}] proj_size is of LSTM alone")
        if not 0 <= proj_size < hidden_size:
            raise _tenon.Error(f"[{name}] proj_size must be at least 0 and less than hidden_size, {hidden_size}, got {proj_size}")
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, dropout, bidirectional, proj_size
        self._names = []
        rows, width = self._gates * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else width * (2 if bidirectional else 1)
            shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, width)}
            if bias:
                shapes.update(bias_ih=(rows,), bias_hh=(rows,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                for what, shape in shapes.items():
                    self._names.append(f"{what}_l{layer}{suffix}")
                    setattr(self, self._names[-1], as_parameter(_tenon.empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        for name in self._names:
            init._within_(getattr(self, name), self.hidden_size)

    def flatten_parameters(self):
        """Does nothing: PyTorch's place for moving parameters beside each other."""

    def forward(self, input, hx=None, lengths=None):
        """The states of the last layer at all times, and the last states of all; lengths: how long each sequence is."""
        dropout = self.dropout if self.num_layers > 1 and self.training else 0.0
        own = self.__dict__
        return F._recurrent(self._cell, input, hx, lengths, [own[name] for name in self._names], self.num_layers,
                            self.bias, self.batch_first, dropout, self.bidirectional, self.proj_size)

    def extra_repr(self):
        shown = [f"{self.input_size}, {self.hidden_size}"]
        for name, plain in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                            ("bidirectional", False)):
            shown += [f"{name}={getattr(self, name)}"] * (getattr(self, name) != plain)
        return ", ".join(shown)


class RNN(_Recurrent):
    """h = tanh(W x + U h + b), step by step; or relu in the place of tanh."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, device=None, dtype=None):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise _tenon.Error(f"[RNN] nonlinearity {checks.shown(nonlinearity)} is not known; it can be 'tanh' or 'relu'")
        self.nonlinearity = nonlinearity

    @property
    def _cell(self):
        return self.nonlinearity


class _Cell(Module):
    """One step of a recurrent layer."""

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")
    _gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__()
        check_sizes(self, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates * hidden_size

        def empty(*shape):
            return as_parameter(_tenon.empty(shape, device=device, dtype=dtype))

        self.weight_ih, self.weight_hh = empty(rows, input_size), empty(rows, hidden_size)
        self.bias_ih, self.bias_hh = (empty(rows), empty(rows)) if bias else (None, None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew, as when the layer was made."""
        for one in self.parameters():
            init._within_(one, self.hidden_size)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def forward(self, input, hx=None):
        return F._recurrent_step(type(self).__name__, self._cell, input, hx, self.weight_ih, self.weight_hh, self.bias_ih,
                                 self.bias_hh)


class RNNCell(_Cell):
    """h = tanh(W x + U h + b), one step; or relu in the place of tanh."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"there is no nonlinearity {checks.shown(nonlinearity)}; there are 'tanh' and 'relu'")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def _cell(self):
        return self.nonlinearity


globals().update(kinds_of(__name__, _Recurrent, {
    "LSTM": ("Long short-term memory; its state is a pair.", {"_gates": 4, "_cell": "lstm"}),
    "GRU": ("Gated recurrent units.", {"_gates": 3, "_cell": "gru"})}))
globals().update(kinds_of(__name__, _Cell, {
    "LSTMCell": ("One step of long short-term memory; gives and takes (h, c).", {"_gates": 4, "_cell": "lstm"}),
    "GRUCell": ("One step of gated recurrent units.", {"_gates": 3, "_cell": "gru"})}))
