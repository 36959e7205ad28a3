"""Hidden monotone variational inequalities, solved by surrogate losses: libhvi from Python.

    import hvi
    r = hvi.solve("pennies", method="gd", inner=10)     # a built-in problem; a dict, a file or an hvi.Problem
    r.z, r.residual, r.trace, r.plot()
    hvi.evaluate(obs=..., reward=..., next_obs=..., terminated=...)

docs/python.md tells the rest."""
from ._core import ArgumentError, Error, InputError, MismatchError, OutOfMemory, SystemFailure, UnsupportedError
from ._core import ffi as _ffi, lib as _lib, settings_of
from ._evaluate import Value, collect, evaluate, load_value
from ._problem import Problem, check, problem
from ._program import program, reproduce
from ._solve import inspect, methods, problems, solve

__version__ = _ffi.string(_lib.hvi_version()).decode()
