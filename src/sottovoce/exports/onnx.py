"""A model as an ONNX graph in float64 (extra `sottovoce[onnx]`).

One input a column, each of shape (rows, 1): float64 for numbers and categories that are numbers or truth
values, NaN where missing; text for text, the empty one where missing. Outputs are `label` and, where the
model gives them, `probabilities`; of a number or an expected count `value`, each primed where a column has
that name. The metadata says what is guaranteed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, final

import numpy as np

from sottovoce.data.cell import SPACES, Label
from sottovoce.data.columns import Categorical, Column
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.errors import ParameterError
from sottovoce.exports.scorecard import (
    Scorecard,
    is_text,
    missing_numbers,
    missing_texts,
    to_the_letter,
)

_OPSET = 20
_IR_VERSION = 9


def to_onnx(card: Scorecard) -> Any:
    """The graph as an onnx.ModelProto."""
    if find_spec("onnx") is None:
        raise ParameterError("to_onnx needs the extra onnx. Install sottovoce[onnx].")
    card.refuse_dates("ONNX")
    return Graph(card).model()


@final
class Graph:
    """Nodes in the making; every method returns the name of a tensor of shape (rows, something)."""

    def __init__(self, card: Scorecard) -> None:
        from onnx import helper

        self.card = card
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self) -> Any:
        from onnx import TensorProto, checker

        inputs = [self._input(column) for column in self.card.schema.columns]
        blocks = {column.name: self.block(column) for column in self.card.schema.columns}
        parts = list(blocks.values())
        for (first, *second), _ in self.card.blocks:
            if second:
                parts.append(self._product(blocks[first.name], blocks[second[0].name], first, second[0]))
        scores = self.op("MatMul", self.op("Concat", *parts, axis=1), self.array(self.card.weights.T))
        scores = self.op("Add", scores, self.array(self.card.constants[None, :]))
        outputs = self._outputs(scores, TensorProto)
        graph = self.helper.make_graph(self.nodes, "sottovoce", inputs, outputs, self.constants)
        made = self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", _OPSET)])
        made.ir_version = _IR_VERSION
        made.producer_name = "sottovoce"
        self.helper.set_model_props(made, self.card.facts)
        checker.check_model(made)
        return made

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = self.card.apart(output or f"t{len(self.nodes)}")
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def array(self, values: Any) -> str:
        from onnx import numpy_helper

        name = self.card.apart(f"c{len(self.constants)}")
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def number(self, truth: str) -> str:
        from onnx import TensorProto

        return self.op("Cast", truth, to=TensorProto.DOUBLE)

    def block(self, column: Column) -> str:
        """The features of a column."""
        if isinstance(column, Categorical):
            return self._texts(column) if is_text(column) else self._codes(column)
        x = column.source
        missing = self._missing(column)
        low, high = (column.low, column.high) if isinstance(column, Numeric | Spline) else (-1e300, 1e300)
        known = self.op("Where", missing, self.array(np.array([[max(low, min(high, 0.0))]])), x)
        inside = self._clipped(known, low, high)
        if isinstance(column, Numeric | Spline):
            inside = self._transformed(column, inside)
        if isinstance(column, Numeric):
            features = self._scaled(column, inside)
        elif isinstance(column, Binned):
            features = self._bins(inside, column.edges)
        else:
            assert isinstance(column, Spline)
            features = self._spline(column, inside)
        absent = self.number(missing)
        features = self.op("Mul", features, self.op("Sub", self.array(np.array([[1.0]])), absent))
        return self.op("Concat", features, absent, axis=1) if column.indicator else features

    def _missing(self, column: Column) -> str:
        missing = self.op("IsNaN", column.source)
        for code in missing_numbers(self.card.schema, column):
            same = self.op("Equal", column.source, self.array(np.array([[code]])))
            missing = self.op("Or", missing, same)
        return missing

    def _clipped(self, x: str, low: float, high: float) -> str:
        at_most = self.op("Min", x, self.array(np.array([[high]])))
        return self.op("Max", at_most, self.array(np.array([[low]])))

    def _transformed(self, column: Numeric | Spline, inside: str) -> str:
        if column.transform == "log1p":
            return self.op("Log", self.op("Add", inside, self.array(np.array([[1.0]]))))
        return self.op("Sqrt", inside) if column.transform == "sqrt" else inside

    def _scaled(self, column: Numeric, inside: str) -> str:
        middle, reach = column.constants
        moved = self.op("Sub", inside, self.array(np.array([[middle]])))
        return self._clipped(self.op("Div", moved, self.array(np.array([[reach]]))), -1.0, 1.0)

    def _bins(self, x: str, edges: tuple[float, ...]) -> str:
        """Indicators as differences of "at least this edge"."""
        reached = self.number(self.op("GreaterOrEqual", x, self.array(np.array([edges]))))
        count = len(edges)
        differences = np.eye(count, count + 1, 1) - np.eye(count, count + 1)
        first = np.eye(1, count + 1)
        return self.op("Add", self.op("MatMul", reached, self.array(differences)), self.array(first))

    def _spline(self, column: Spline, inside: str) -> str:
        """The cubics of the piece that holds the number, by Horner's rule."""
        piece = self._bins(inside, column.breaks[1:-1])
        left = self.op("MatMul", piece, self.array(np.array(column.breaks[:-1])[:, None]))
        step = self.op("Sub", inside, left)
        total = ""
        for power in (3, 2, 1, 0):
            coefficients = self.op("MatMul", piece, self.array(column.pieces[:, :, power]))
            total = self.op("Add", self.op("Mul", total, step), coefficients) if total else coefficients
        return total

    def _texts(self, column: Categorical) -> str:
        letters = to_the_letter(self.card.schema, column.categories)
        labels = [str(label) for label in column.categories]
        found = [self._matches(column.source, self._pattern((label,), letters)) for label in labels]
        if column.indicator:
            listed = missing_texts(self.card.schema, column)
            found.append(self._unknown(found, self._matches(column.source, self._pattern(listed, False))))
        return self.op("Concat", *found, axis=1)

    def _codes(self, column: Categorical) -> str:
        values = np.array([[float(label) for label in column.categories]])
        found = [self.number(self.op("Equal", column.source, self.array(values)))]
        if column.indicator:
            ones = self.op("MatMul", found[0], self.array(np.ones((values.size, 1))))
            found.append(self._unknown([ones], self.number(self._missing(column))))
        return self.op("Concat", *found, axis=1) if len(found) > 1 else found[0]

    def _unknown(self, found: list[str], missing: str) -> str:
        """Missing and none of the categories."""
        matched = self.op("Sum", *found) if len(found) > 1 else found[0]
        return self.op("Mul", missing, self.op("Sub", self.array(np.array([[1.0]])), matched))

    def _matches(self, x: str, pattern: str) -> str:
        return self.number(self.op("RegexFullMatch", x, pattern=pattern))

    def _pattern(self, texts: tuple[str, ...], letters: bool) -> str:
        spelling = self.card.schema.spelling
        if letters:
            return "|".join("".join(map(_escaped, text)) for text in texts)
        folded = [
            "".join(_either(letter, spelling.fold) for letter in spelling.plain(text)) for text in texts
        ]
        spaces = f"[{''.join(map(_escaped, SPACES))}]*" if spelling.trim else ""
        return f"{spaces}(?:{'|'.join(folded)}){spaces}"

    def _product(self, left: str, right: str, first: Column, second: Column) -> str:
        """All products of features, the second's running faster."""
        widths = len(first.features), len(second.features)
        repeated = np.kron(np.eye(widths[0]), np.ones((1, widths[1])))
        tiled = np.kron(np.ones((1, widths[0])), np.eye(widths[1]))
        return self.op(
            "Mul",
            self.op("MatMul", left, self.array(repeated)),
            self.op("MatMul", right, self.array(tiled)),
        )

    def _input(self, column: Column) -> Any:
        from onnx import TensorProto

        text = isinstance(column, Categorical) and is_text(column)
        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        return self.helper.make_tensor_value_info(column.source, kind, ["rows", 1])

    def _outputs(self, scores: str, kinds: Any) -> list[Any]:
        describe = self.helper.make_tensor_value_info
        if self.card.highest is not None:
            scores = self.op("Min", self.op("Exp", scores), self.array(np.array([[self.card.highest]])))
        if self.card.classes is None:
            return [describe(self.op("Identity", scores, output="value"), kinds.DOUBLE, ["rows", 1])]
        if len(self.card.constants) == 1:
            place = self.op("Cast", self.op("Greater", scores, self.array(np.array([[0.0]]))), to=kinds.INT64)
            place = self.op("Squeeze", place, self.array(np.array([1])))
            chance = self.op("Sigmoid", scores)
            other = self.op("Sigmoid", self.op("Neg", scores))
            chances = self.op("Concat", other, chance, axis=1)
        else:
            place = self.op("ArgMax", scores, axis=1, keepdims=0)
            chances = self.op("Softmax", scores, axis=1)
        labels = _labels(self.card.classes)
        kind = kinds.STRING if labels.dtype == object else self.helper.np_dtype_to_tensor_dtype(labels.dtype)
        found = [describe(self.op("Gather", self.array(labels), place, output="label"), kind, ["rows"])]
        if self.card.probabilities:
            told = self.op("Identity", chances, output="probabilities")
            found.append(describe(told, kinds.DOUBLE, ["rows", len(self.card.classes)]))
        return found


def _labels(classes: tuple[Label, ...]) -> Any:
    return np.array(classes, dtype=object if isinstance(classes[0], str) else None)


def _escaped(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{ord(letter):x}}}"


def _either(letter: str, fold: bool) -> str:
    """The letter or, where case is read past, its large one."""
    large = letter.upper()
    if not fold or len(large) != 1 or large == letter or large.lower() != letter:
        return _escaped(letter)
    return f"[{_escaped(letter)}{_escaped(large)}]"
