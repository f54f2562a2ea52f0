"""Initial values, in place."""

from .. import _tenon

globals().update({name: value for name, value in vars(_tenon._nn.init).items() if not name.startswith("__")})
