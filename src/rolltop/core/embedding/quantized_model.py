"""The embedding model with its 8-bit weights as they are.

As published, it widens each of them (`Cast`, then `Mul` by its scale), and the runtime keeps what
comes out: four bytes a weight, all of which every query has to read. Here matrices are multiplied
as they are, by inputs that are rounded to 8 bits too, and of a table only the rows that are looked
up are widened. Nothing but that one model, which `minilm` knows by its hash, is provided for.

Messages are read as protocol buffers are written (protobuf.dev/programming-guides/encoding), with
the numbers that fields have in onnx.proto; nothing else of ONNX's own package is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

_GRAPH: Final = 7
_OPERATORS: Final = 8
_NODE: Final = 1
_TENSOR: Final = 5
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7
_SIZE, _KIND, _NAME, _RAW = 1, 2, 8, 9
_FLOATS, _UNSIGNED = 1, 2

_VARINT, _EIGHT_BYTES, _LENGTH_DELIMITED = 0, 1, 2  # all else has four bytes
_CONTINUATION_BIT: Final = 128
"""The bit of a number's byte that says another follows."""
_RUNTIME_DOMAIN: Final = b"com.microsoft"
_ZERO_POINT: Final = 128
"""What stands for 0 among unsigned weights: signed ones overflow in processors without VNNI."""
_CAST_TO_FLOAT: Final = b"\x0a\x02to\x18\x01\xa0\x01\x02"
"""The attribute `to` of `Cast`: the whole number 1, for 32-bit floats."""


class _Node(NamedTuple):
    """One operation of the model."""

    message: bytes
    operator: bytes
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


class _Tensor(NamedTuple):
    """Numbers that belong to the model."""

    sizes: tuple[int, ...]
    raw: memoryview


class _Weights(NamedTuple):
    """The names of 8-bit weights and of their scale."""

    weights: bytes
    scale: bytes


def fuse_quantized_weights(model: bytes) -> bytes:
    """Return the model that answers the same, but for the rounding of inputs, from 8-bit weights.

    Raises ValueError for what is no model.
    """
    fields = list(_fields(memoryview(model)))
    (graph,) = (value for number, _, value in fields if number == _GRAPH)
    rest = b"".join(whole for number, whole, _ in fields if number != _GRAPH)
    own = _encode_field(
        _OPERATORS, _encode_field(1, _RUNTIME_DOMAIN) + _encode_varint(2 << 3) + _encode_varint(1)
    )
    return rest + own + _encode_field(_GRAPH, _rewrite_graph(graph))


def _rewrite_graph(graph: memoryview) -> bytes:
    """Return the model's graph with other nodes and tensors for 8-bit weights."""
    fields = list(_fields(graph))
    nodes = [_decode_node(value) for number, _, value in fields if number == _NODE]
    tensors = dict(_decode_tensor(value) for number, _, value in fields if number == _TENSOR)
    cast = {n.outputs[0]: n.inputs[0] for n in nodes if n.operator == b"Cast"}
    widened = {
        node.outputs[0]: _Weights(weights, node.inputs[1])
        for node in nodes
        if node.operator == b"Mul" and (weights := cast.get(node.inputs[0])) in tensors
    }
    needless = {name for name, weights in cast.items() if weights in tensors} | widened.keys()
    written: list[bytes] = []
    added: list[bytes] = []
    unused: set[bytes] = set()
    for node in nodes:
        if node.operator == b"MatMul" and (one := widened.get(node.inputs[1])):
            written.append(_matmul_node(node, one))
            added += _unsigned_tensors(one, tensors[one.weights], tensors[one.scale])
            unused |= {*one}
        elif node.operator == b"Gather" and (one := widened.get(node.inputs[0])):
            written += _gather_nodes(node, one)
        elif node.outputs[0] not in needless:
            written.append(node.message)
    names = iter(tensors)  # which were read in the order of their fields
    kept = [
        whole
        for number, whole, _ in fields
        if number != _NODE and not (number == _TENSOR and next(names) in unused)
    ]
    return b"".join([*(_encode_field(_NODE, one) for one in written), *kept, *added])


def _matmul_node(node: _Node, one: _Weights) -> bytes:
    """Return the node that multiplies by 8-bit weights in place of the one by wide ones."""
    inputs = (node.inputs[0], *_names(one))
    return _encode_node(b"DynamicQuantizeMatMul", inputs, node.outputs[0], _RUNTIME_DOMAIN)


def _unsigned_tensors(one: _Weights, weights: _Tensor, scale: _Tensor) -> list[bytes]:
    """Return the fields of the tensors that `_matmul_node` takes: weights, scale and middle."""
    columns = weights.sizes[1:]
    shifted = np.frombuffer(weights.raw, dtype=np.uint8) ^ _ZERO_POINT
    named = zip(
        _names(one),
        ((weights.sizes, _UNSIGNED), (columns, _FLOATS), (columns, _UNSIGNED)),
        (shifted.tobytes(), bytes(scale.raw), bytes([_ZERO_POINT]) * columns[0]),
        strict=True,
    )
    return [
        _encode_field(
            _TENSOR,
            b"".join(_encode_varint(_SIZE << 3) + _encode_varint(size) for size in sizes)
            + (_encode_varint(_KIND << 3) + _encode_varint(kind))
            + _encode_field(_NAME, name)
            + _encode_field(_RAW, raw),
        )
        for name, (sizes, kind), raw in named
    ]


def _names(one: _Weights) -> tuple[bytes, bytes, bytes]:
    return one.weights + b"/unsigned", one.scale + b"/columns", one.weights + b"/middle"


def _gather_nodes(node: _Node, one: _Weights) -> list[bytes]:
    """Return the nodes that widen the rows looked up, in place of the one that looks them up."""
    rows, (made,) = node.inputs[1], node.outputs
    narrow, wide, scale = made + b"/narrow", made + b"/wide", made + b"/scale"
    return [
        _encode_node(b"Gather", (one.weights, rows), narrow),
        _encode_node(b"Cast", (narrow,), wide, attribute=_CAST_TO_FLOAT),
        _encode_node(b"Gather", (one.scale, rows), scale),
        _encode_node(b"Mul", (wide, scale), made),
    ]


def _encode_node(
    operator: bytes,
    inputs: tuple[bytes, ...],
    output: bytes,
    domain: bytes = b"",
    attribute: bytes = b"",
) -> bytes:
    parts = [_encode_field(_INPUT, name) for name in inputs]
    parts += [_encode_field(_OUTPUT, output), _encode_field(_OPERATOR, operator)]
    if attribute:
        parts.append(_encode_field(_ATTRIBUTE, attribute))
    if domain:
        parts.append(_encode_field(_DOMAIN, domain))
    return b"".join(parts)


def _decode_node(message: memoryview) -> _Node:
    texts: dict[int, list[bytes]] = {_INPUT: [], _OUTPUT: [], _OPERATOR: []}
    for number, _, value in _fields(message):
        if number in texts:
            texts[number].append(bytes(value))
    inputs, outputs, (operator,) = texts.values()
    return _Node(bytes(message), operator, tuple(inputs), tuple(outputs))


def _decode_tensor(message: memoryview) -> tuple[bytes, _Tensor]:
    sizes: list[int] = []
    name, raw = b"", memoryview(b"")
    for number, _, value in _fields(message):
        if number == _SIZE:  # one by one, or several in a row
            at = 0
            while at < len(value):
                size, at = _read_varint(value, at)
                sizes.append(size)
        elif number == _NAME:
            name = bytes(value)
        elif number == _RAW:
            raw = value
    return name, _Tensor(tuple(sizes), raw)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yield the number of each field, the field as it is written, and what it holds."""
    at = 0
    while at < len(message):
        start = at
        key, at = _read_varint(message, at)
        if key & 7 == _LENGTH_DELIMITED:
            length, at = _read_varint(message, at)
            end = at + length
        elif key & 7 == _VARINT:
            _, end = _read_varint(message, at)
        else:
            end = at + (8 if key & 7 == _EIGHT_BYTES else 4)
        yield key >> 3, message[start:end], message[at:end]
        at = end


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return the whole number that is written at a place, and the place after it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & ~_CONTINUATION_BIT) << shift
        at, shift = at + 1, shift + 7
        if not byte & _CONTINUATION_BIT:
            return value, at


def _encode_varint(number: int) -> bytes:
    made = bytearray()
    while number >= _CONTINUATION_BIT:
        made.append(number % _CONTINUATION_BIT | _CONTINUATION_BIT)
        number >>= 7
    made.append(number)
    return bytes(made)


def _encode_field(number: int, value: bytes) -> bytes:
    return _encode_varint(number << 3 | _LENGTH_DELIMITED) + _encode_varint(len(value)) + value
