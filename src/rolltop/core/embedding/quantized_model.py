"""An ONNX model whose 8-bit weights stay 8 bits wide.

As published, a model of 8-bit weights may widen each of them (`Cast`, then `Mul` by its scale), and
the runtime keeps what comes out: four bytes a weight, all of which every query has to read. Here
matrices are multiplied as they are, by inputs that are rounded to 8 bits too, and of a table only
the rows that are looked up are widened.

Messages are read as protocol buffers are written (protobuf.dev/programming-guides/encoding), with
the numbers that fields have in onnx.proto; nothing else of ONNX's own package is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np

_GRAPH: Final = 7
_OPERATORS: Final = 8
_NODE: Final = 1
_TENSOR: Final = 5
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7
_SIZE, _KIND, _NAME, _RAW = 1, 2, 8, 9
_FLOATS, _UNSIGNED, _SIGNED = 1, 2, 3

_VARINT, _EIGHT_BYTES, _LENGTH_DELIMITED = 0, 1, 2  # all else has four bytes
_CONTINUATION_BIT: Final = 128
"""The bit of a number's byte that says another follows."""
_WEIGHT_INPUTS: Final = {b"MatMul": 1, b"Gather": 0}
"""The input that weights are, by operation."""
_RUNTIME_DOMAIN: Final = b"com.microsoft"
_ZERO_POINT: Final = 128
"""What stands for 0 among unsigned weights: signed ones overflow in processors without VNNI."""
_CAST_TO_FLOAT: Final = b"\x0a\x02to\x18\x01\xa0\x01\x02"
"""The attribute `to` of `Cast`: the whole number 1, for 32-bit floats."""


class _Node(NamedTuple):
    """One operation of a model."""

    message: bytes
    operator: bytes
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    is_plain: bool
    """Whether it has no attributes."""


class _Tensor(NamedTuple):
    """Numbers that belong to a model."""

    sizes: tuple[int, ...]
    kind: int
    raw: memoryview


class _QuantizedWeights(NamedTuple):
    """8-bit weights with their scale, and the places of the nodes that widen them."""

    weights: bytes
    scale: bytes
    nodes: tuple[int, int]


def fuse_quantized_weights(model: bytes) -> bytes:
    """Return the model with its 8-bit weights as they are, where what is done with them is known.

    It answers what the model answers, but for the rounding of inputs. A model without such
    weights is returned as it is.
    """
    fields = list(_fields(memoryview(model)))
    (graph,) = (value for number, _, value in fields if number == _GRAPH)
    made = _rewrite_graph(graph)
    if made is None:
        return model
    rest = b"".join(whole for number, whole, _ in fields if number != _GRAPH)
    own = _encode_field(
        _OPERATORS, _encode_field(1, _RUNTIME_DOMAIN) + _encode_varint(2 << 3) + _encode_varint(1)
    )
    return rest + own + _encode_field(_GRAPH, made)


def _rewrite_graph(graph: memoryview) -> bytes | None:
    """Return a model's graph with other nodes and tensors for 8-bit weights, None without any."""
    fields = list(_fields(graph))
    nodes = [_decode_node(value) for number, _, value in fields if number == _NODE]
    tensors = dict(_decode_tensor(value) for number, _, value in fields if number == _TENSOR)
    widened = _find_quantized_weights(nodes, tensors)
    made: dict[int, list[bytes]] = {}
    added: list[bytes] = []
    unused: set[bytes] = set()
    for at, node in enumerate(nodes):
        one = (
            widened.get(node.inputs[_WEIGHT_INPUTS[node.operator]])
            if node.operator in _WEIGHT_INPUTS
            else None
        )
        if one is None or not node.is_plain:
            continue
        rows, columns = tensors[one.weights].sizes
        scaled = tensors[one.scale].sizes
        if node.operator == b"MatMul" and scaled == (1, columns):
            made |= {at: [_matmul_node(node, one)], one.nodes[0]: [], one.nodes[1]: []}
            added += _unsigned_tensors(one, tensors)
            unused |= {one.weights, one.scale}
        elif node.operator == b"Gather" and scaled == (rows, 1):
            made |= {at: _gather_nodes(node, one), one.nodes[0]: [], one.nodes[1]: []}
    if not made:
        return None
    written = [message for at, node in enumerate(nodes) for message in made.get(at, [node.message])]
    # The tensors were read in the order of their fields.
    names = iter(tensors)
    kept = [
        whole
        for number, whole, _ in fields
        if number != _NODE and not (number == _TENSOR and next(names) in unused)
    ]
    return b"".join([*(_encode_field(_NODE, one) for one in written), *kept, *added])


def _find_quantized_weights(
    nodes: Sequence[_Node], tensors: Mapping[bytes, _Tensor]
) -> dict[bytes, _QuantizedWeights]:
    """Return by name what is nothing but 8-bit weights times their scale, and is used once."""
    uses = Counter(name for node in nodes for name in node.inputs)
    casts = {
        node.outputs[0]: (at, node.inputs[0])
        for at, node in enumerate(nodes)
        if node.operator == b"Cast"
        and node.inputs[0] in tensors
        and tensors[node.inputs[0]].kind == _SIGNED
        and len(tensors[node.inputs[0]].sizes) == 2  # noqa: PLR2004  # rows and columns
    }
    found: dict[bytes, _QuantizedWeights] = {}
    for at, node in enumerate(nodes):
        if node.operator != b"Mul" or node.inputs[0] not in casts:
            continue
        cast, weights = casts[node.inputs[0]]
        scale = tensors.get(node.inputs[1])
        names = (node.inputs[0], node.outputs[0], weights, node.inputs[1])
        once = all(uses[name] == 1 for name in names)
        if not once or scale is None or scale.kind != _FLOATS:
            continue
        if _has_raw_tensor(tensors, weights, 1) and _has_raw_tensor(tensors, node.inputs[1], 4):
            found[node.outputs[0]] = _QuantizedWeights(weights, node.inputs[1], (cast, at))
    return found


def _has_raw_tensor(tensors: Mapping[bytes, _Tensor], name: bytes, width: int) -> bool:
    """Return whether a tensor of numbers so many bytes wide lies in the model in one piece."""
    return len(tensors[name].raw) == prod(tensors[name].sizes) * width


def _matmul_node(node: _Node, one: _QuantizedWeights) -> bytes:
    """Return the node that multiplies by 8-bit weights in place of the one by wide ones."""
    inputs = (node.inputs[0], *_names(one))
    return _encode_node(b"DynamicQuantizeMatMul", inputs, node.outputs[0], _RUNTIME_DOMAIN)


def _unsigned_tensors(one: _QuantizedWeights, tensors: Mapping[bytes, _Tensor]) -> list[bytes]:
    """Return the fields of the tensors that `_matmul_node` takes: weights, scale and middle."""
    weights, scale = tensors[one.weights], tensors[one.scale]
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


def _names(one: _QuantizedWeights) -> tuple[bytes, bytes, bytes]:
    return one.weights + b"/unsigned", one.scale + b"/columns", one.weights + b"/middle"


def _gather_nodes(node: _Node, one: _QuantizedWeights) -> list[bytes]:
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
    inputs: Sequence[bytes],
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
    texts: dict[int, list[bytes]] = {_INPUT: [], _OUTPUT: [], _OPERATOR: [], _ATTRIBUTE: []}
    for number, _, value in _fields(message):
        if number in texts:
            texts[number].append(bytes(value))
    inputs, outputs = tuple(texts[_INPUT]), tuple(texts[_OUTPUT])
    return _Node(bytes(message), b"".join(texts[_OPERATOR]), inputs, outputs, not texts[_ATTRIBUTE])


def _decode_tensor(message: memoryview) -> tuple[bytes, _Tensor]:
    sizes: list[int] = []
    kind, name, raw = 0, b"", memoryview(b"")
    for number, _, value in _fields(message):
        if number == _SIZE:  # one by one, or several in a row
            at = 0
            while at < len(value):
                size, at = _read_varint(value, at)
                sizes.append(size)
        elif number == _KIND:
            kind, _ = _read_varint(value, 0)
        elif number == _NAME:
            name = bytes(value)
        elif number == _RAW:
            raw = value
    return name, _Tensor(tuple(sizes), kind, raw)


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
