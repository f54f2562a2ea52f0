"""Runs from a config: training.train("demo", "runs/demo")."""

from . import _tenon

globals().update({name: value for name, value in vars(_tenon._training).items() if not name.startswith("_")})
