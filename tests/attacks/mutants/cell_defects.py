"""Cells, labels and rows that are read by looking at others."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

CELLS = "tests/data/test_cells.py"
LABELS = "tests/data/test_labels.py"
HEADERS = "tests/data/test_headers.py"
LAYOUT = "tests/estimators/test_layout.py"

READING = (
    Mutant(
        "small whole numbers looked up past where their column begins",
        "data/arrow.py",
        "return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]",
        "return np.frombuffer(column.buffers()[1], kind)[: len(column)]",
        "tests/data/test_small_numbers.py",
    ),
    Mutant(
        "decimals rounded by the column's scale",
        "data/cells.py",
        "        return _decimal_numbers(plain)\n",
        "        return _floats(plain)\n",
        f"{CELLS} -k typed_column",
    ),
    Mutant(
        "one field that is no number unreads its column",
        "data/cells.py",
        "    found = np.array([number(text) for text in encoded.dictionary.to_pylist()], dtype=np.float64)\n",
        "    found = np.full(len(encoded.dictionary), np.nan)\n",
        f"{CELLS} -k typed_column",
    ),
    Mutant(
        "polars objects read as memory addresses",
        "data/frames.py",
        "            if series.dtype != nw.Object:",
        "            if True:",
        f"{CELLS} -k replacing",
    ),
    Mutant(
        "an object's own method runs",
        "data/cell.py",
        "            return float.__float__(cell)\n",
        "            return float(cell)\n",
        f"{CELLS} -k however",
    ),
    Mutant(
        "text categories do not know their numbers",
        "data/cell.py",
        "        values = [value(label) for label in labels]\n",
        "        values = [label if isinstance(label, str) else value(label) for label in labels]\n",
        f"{CELLS} -k however",
    ),
    Mutant(
        "a list of labels gets one type",
        "data/cells.py",
        "    return one_by_one(entries) if isinstance(entries, Sequence) else np.asarray(entries)\n",
        "    return np.asarray(entries)\n",
        LABELS,
    ),
    Mutant(
        "confusion takes classes for sorted",
        "evaluation/examination.py",
        "predicted = cells.codes(self.predictions(), self.classes.tolist())",
        "predicted = np.searchsorted(self.classes, self.predictions().astype(int))",
        f"{LABELS} -k confusion",
    ),
    Mutant(
        "rows within the radius keep their layout",
        "estimators/scaling.py",
        "    factors = shrinkage(X, radius)\n    if _is_sparse",
        "    factors = shrinkage(X, radius)\n    if np.all(factors == 1.0):\n        return X\n    if _is_sparse",
        LAYOUT,
    ),
    Mutant(
        "scores depend on the number of rows",
        "estimators/scaling.py",
        'np.einsum("ij,j->i", rows, vector)',
        "rows @ vector",
        LAYOUT,
    ),
    Mutant(
        "regression target scaled before it is clipped",
        "estimators/regressor.py",
        "        clipped, usable = bounds.encode(y)\n",
        "        clipped, usable = np.asarray(y, dtype=float), np.ones(len(y), dtype=bool)\n",
        f"{LAYOUT} -k largest_float",
    ),
    Mutant(
        "a blank line of one column is dropped",
        "data/textfiles.py",
        "ignore_empty_lines=len(names) > 1",
        "ignore_empty_lines=True",
        f"{HEADERS} -k blank_line",
    ),
    Mutant(
        "stray bytes unread the file",
        "data/textfiles.py",
        "dict.fromkeys(wanted, pa.binary())",
        "dict.fromkeys(wanted, pa.string())",
        f"{HEADERS} -k hostile_field",
    ),
    Mutant(
        "the first record taken for names",
        "data/textfiles.py",
        "any(map(looks_like_value, names))",
        "False",
        f"{HEADERS} -k first_line",
    ),
    Mutant(
        "a wrong schema file quoted back",
        "data/schema_file.py",
        "see {place[0]}",
        "{error}",
        f"{HEADERS} -k quoted_back",
    ),
    Mutant(
        "a formula reaches the predictions",
        "cli/predictions.py",
        """return f"'{cell}" if risky else cell""",
        "return cell",
        "tests/test_model.py -k spreadsheet",
    ),
)
