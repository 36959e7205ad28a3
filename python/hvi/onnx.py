"""ONNX: value networks and policies for whoever runs them elsewhere, written with the onnx package.

    hvi.onnx.export("lqr-value.safetensors", "lqr-value.onnx")
    hvi.onnx.export(hvi.load_policy("sac.safetensors"), "sac.onnx")

The graph has one input, obs [n][obs] of floats, and one output: value [n], or action [n][act] without noise. It holds
the scales too, so observations go in as they are."""
import os

import numpy as np

from ._core import call, ffi, lib, may_write, need, path_of, text
from ._evaluate import Evaluation, Value, load_value, parts_of
from .policies import Policy, layers_of, load_policy

MARK = "hvi, libhvi"  # the producer's name, which stands at the beginning of a file
OPSET = 20            # the first with Gelu
OPERATORS = {"identity": ("Identity", {}), "celu": ("Celu", {"alpha": 1.0}), "sigmoid": ("Sigmoid", {}), "tanh": ("Tanh", {}),
             "relu": ("Relu", {}), "leaky_relu": ("LeakyRelu", {"alpha": 0.01}), "gelu": ("Gelu", {"approximate": "none"}),
             "softplus": ("Softplus", {})}


class _Graph:
    """Nodes one after the other, each fed by the one before; constants are floats."""

    def __init__(self, onnx):
        self.onnx, self.nodes, self.constants, self.last = onnx, [], [], "obs"

    def constant(self, x) -> str:
        """A tensor of the graph's own."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(x, np.float32), name))
        return name

    def add(self, operator: str, *constants, **attributes) -> None:
        """A node that takes what came last, and constants."""
        name = f"x{len(self.nodes)}"
        inputs = [self.last, *map(self.constant, constants)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        self.last = name

    def network(self, layers: list, activation: str) -> None:
        """Linear layers with the activation between them."""
        operator, attributes = OPERATORS[activation]
        for i, (weight, bias) in enumerate(layers):
            self.add("Gemm", weight, bias, transB=1)
            if i + 1 < len(layers):
                self.add(operator, **attributes)

    def model(self, inputs: int, output: str, shape: list, about: str):
        """The whole of it, checked by onnx itself."""
        onnx, helper = self.onnx, self.onnx.helper
        self.nodes[-1].output[0] = output
        kind = onnx.TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, about, [helper.make_tensor_value_info("obs", kind, ["n", inputs])],
                                  [helper.make_tensor_value_info(output, kind, shape)], self.constants)
        made = helper.make_model(graph, producer_name=MARK, producer_version=text(lib.hvi_version()), ir_version=9,
                                 opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(made, full_check=True)
        return made


def _value(graph: _Graph, parts) -> list:
    if parts.center is not None:
        graph.add("Sub", parts.center)
        graph.add("Div", parts.spread)
    graph.network(parts.layers, parts.activation)
    graph.add("Mul", np.array(parts.scale))
    graph.add("Add", np.array(parts.shift))
    axes = graph.onnx.numpy_helper.from_array(np.array([1], np.int64), "axes")
    graph.constants.append(axes)
    graph.nodes.append(graph.onnx.helper.make_node("Squeeze", [graph.last, "axes"], ["value"]))
    return [len(parts.layers[0][0][0]), "value", ["n"]]


def _policy(graph: _Graph, policy: Policy) -> list:
    parts = layers_of(policy)
    if parts.gain is not None:
        graph.add("Gemm", parts.gain, np.zeros(policy.act), transB=1)
        return [policy.obs, "action", ["n", policy.act]]
    graph.network(parts.layers, parts.activation)
    if not parts.clipped:
        graph.add("Tanh")
        graph.add("Mul", parts.scale)
        graph.add("Add", parts.shift)
    elif np.isfinite(parts.scale).all():
        graph.add("Max", parts.shift - parts.scale)
        graph.add("Min", parts.shift + parts.scale)
    return [policy.obs, "action", ["n", policy.act]]


def _open(source):
    """A value function or a policy, from the object or its file."""
    if isinstance(source, Evaluation):
        source = source.value
    if isinstance(source, (Value, Policy)):
        return source
    contents = ffi.new("hvi_tensors **")
    call(lib.hvi_tensors_open, contents, path_of(source), 0)
    file = ffi.gc(contents[0], lib.hvi_tensors_free)
    return load_value(source) if text(lib.hvi_tensors_note(file, b"contents")) == "value network" else load_policy(source)


def model(source):
    """The ONNX model of a value function or of a policy: a file, or what hvi.evaluate, load_value or load_policy gave."""
    onnx = need("onnx", "onnx", "ONNX files are written")
    source = _open(source)
    graph = _Graph(onnx)
    if isinstance(source, Value):
        return graph.model(*_value(graph, parts_of(source)), "hvi value network")
    return graph.model(*_policy(graph, source), "hvi policy")


def export(source, path, *, force: bool = False) -> None:
    """Writes model(source) to path, whole or not at all. force: replaces a file that hvi did not make for this."""
    may_write(path, MARK, force)
    content = model(source).SerializeToString()
    call(lib.hvi_py_write, path_of(path), content, len(content))


def output_of(path) -> str:
    """What the output of an ONNX file is called, with its shape."""
    out = need("onnx", "onnx", "ONNX files are read").load(os.fspath(path)).graph.output[0]
    shape = "".join(f"[{d.dim_param or d.dim_value}]" for d in out.type.tensor_type.shape.dim)
    return f"{out.name} {shape}"
