"""Hidden monotone variational inequalities, solved by surrogate losses: libhvi from Python.

    import hvi
    r = hvi.solve("pennies", method="gd", inner=10)     # a built-in problem; a dict, a file or an hvi.Problem
    r.z, r.residual, r.trace, r.plot()
    hvi.evaluate(obs=..., reward=..., next_obs=..., terminated=...)

    hvi.data.from_minari(path), hvi.policies.convert("sac.zip", "sac.safetensors"), hvi.onnx.export(value, "value.onnx")

docs/python.md tells the rest, and `python -m hvi --help` what can be done without a script."""
from ._core import ArgumentError, Error, InputError, MismatchError, MissingPackage, OutOfMemory, SystemFailure
from ._core import UnsupportedError, ffi as _ffi, lib as _lib, settings_of
from ._evaluate import Value, evaluate, load_value
from ._problem import Problem, check, problem
from ._program import program, reproduce
from ._solve import inspect, methods, problems, solve
from .data import Transitions, collect
from .policies import Policy, load_policy
from . import data, onnx, policies, tensorboard

__version__ = _ffi.string(_lib.hvi_version()).decode()
