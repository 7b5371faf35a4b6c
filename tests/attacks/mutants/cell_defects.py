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
        "data.arrow:small",
        "_[column.offset:column.offset + len(column)]",
        "_[:len(column)]",
        "tests/data/test_small_numbers.py",
    ),
    Mutant(
        "decimals rounded by the column's scale",
        "data.cells:numbers",
        "arrow_cells.decimal_numbers(plain)",
        "arrow_cells.floats(plain)",
        f"{CELLS} -k typed_column",
    ),
    Mutant(
        "one field that is no number unreads its column",
        "data.arrow_cells:text_numbers",
        "np.array([number(text) for text in encoded.dictionary.to_pylist()], dtype=np.float64)",
        "np.full(len(encoded.dictionary), np.nan)",
        f"{CELLS} -k typed_column",
    ),
    Mutant(
        "polars objects read as memory addresses",
        "data.frames:series_column",
        "series.dtype != nw.Object",
        "True",
        f"{CELLS} -k replacing",
    ),
    Mutant(
        "an object's own method runs",
        "data.cell:_real",
        "float.__float__(cell)",
        "float(cell)",
        f"{CELLS} -k however",
    ),
    Mutant(
        "text categories do not know their numbers",
        "data.cell:Codebook.__init__",
        "map(value, labels)",
        "(label if isinstance(label, str) else value(label) for label in labels)",
        f"{CELLS} -k however",
    ),
    Mutant(
        "a list of labels gets one type",
        "data.cells:array",
        "one_by_one(entries) if isinstance(entries, Sequence) else np.asarray(entries)",
        "np.asarray(entries)",
        LABELS,
    ),
    Mutant(
        "confusion takes classes for sorted",
        "evaluation.private_evaluation:PrivateEvaluation.confusion.places",
        "cells.codes(self.predictions(), self.classes.tolist())",
        "np.searchsorted(self.classes, self.predictions().astype(int))",
        f"{LABELS} -k confusion",
    ),
    Mutant(
        "rows within the radius keep their layout",
        "estimators.unit_ball:into_unit_ball",
        "factors = shrinkage(X, radius)",
        ("factors = shrinkage(X, radius)\nif np.all(factors == 1.0):\n    return X"),
        LAYOUT,
    ),
    Mutant(
        "scores depend on the number of rows",
        "estimators.unit_ball:row_products",
        "row_dots(rows, vector)",
        "rows @ vector",
        LAYOUT,
    ),
    Mutant(
        "regression target scaled before it is clipped",
        "estimators.regressor:PrivateRegressor.fit",
        "bounds.encode(y)",
        "(np.asarray(y, dtype=float), np.ones(len(y), dtype=bool))",
        f"{LAYOUT} -k largest_float",
    ),
    Mutant(
        "a blank line of one column is dropped",
        "data.csv_files:csv_chunks",
        "len(names) > 1",
        "True",
        f"{HEADERS} -k blank_line",
    ),
    Mutant(
        "stray bytes unread the file",
        "data.csv_files:csv_chunks",
        "pa.binary()",
        "pa.string()",
        f"{HEADERS} -k hostile_field",
    ),
    Mutant(
        "the first record taken for names",
        "data.csv_files:csv_names",
        "any(map(looks_like_value, names))",
        "False",
        f"{HEADERS} -k first_line",
    ),
    Mutant(
        "a wrong schema file quoted back",
        "data.schema_file:parsed",
        "f', see {place[0]}'",
        "f', {error}'",
        f"{HEADERS} -k quoted_back",
    ),
    Mutant(
        "a formula reaches the predictions",
        "cli.predictions:_harmless",
        'f"\'{cell}" if risky else cell',
        "cell",
        "tests/test_model.py -k spreadsheet",
    ),
)
