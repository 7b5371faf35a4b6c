"""Doors that read a cell, a line or a type by looking at others, or lose one in silence."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

LINES = "tests/data/test_lines.py"
TYPES = "tests/data/test_types.py"

COUNTED = (
    Mutant(
        "a count of persons told where it may not be counted",
        "cli.evaluate:evaluate",
        "require_declared(persons, lenient=reading.how.lenient, relation=Relation.of(promise.relation))",
        "pass",
        "tests/system/test_persons_fronts.py -k no_number_of_persons",
    ),
    Mutant(
        "a count of persons under zero-out",
        "data.persons:require_declared",
        "persons is None and relation is Relation.ZERO_OUT",
        "False",
        "tests/system/test_persons_fronts.py -k no_number_of_persons",
    ),
    Mutant(
        "a side without rows refuses",
        "evaluation.holdout:Parting.of",
        "how.lenient or 0 < int(test.sum()) < rows",
        "0 < int(test.sum()) < rows",
        "tests/evaluation/test_holdout.py -k remain",
    ),
    Mutant(
        "a row that stands for nobody counts",
        "data.tables:Table.split",
        "[None] if keys == [] else keys",
        "self.keys[:1] if keys == [] else keys",
        "tests/evaluation/test_holdout.py -k remain",
    ),
    Mutant(
        "rows held out read by the last look's schema",
        "fitting:_Reader.test",
        "self.held_out is None or self.held_out[0] != declared",
        "self.held_out is None",
        "tests/features/test_selection.py -k held_out",
    ),
    Mutant(
        "marginals of a file believed",
        "features.marginals:Marginal.fits",
        "len(self.shares) == levels > 0",
        "True",
        "tests/test_forged_files.py -k marginals",
    ),
    Mutant(
        "a time to event recalibrated",
        "estimators.recalibration:recalibrated",
        "aim is not None and aim.survival is not None",
        "False",
        "tests/data/test_survival.py -k recalibrated",
    ),
)

READERS = (
    Mutant(
        "a column of text taken at its word",
        "data.arrow_cells:text_column",
        "column.cast(pa.large_binary())",
        "column",
        f"{TYPES} -k utf8",
    ),
    Mutant(
        "a moment beyond the calendar read",
        "data.dates:_hours",
        "hours[(hours < _FIRST) | (hours > _LAST)] = _NONE",
        "",
        f"{TYPES} -k beyond_the_calendar",
    ),
    Mutant(
        "long units multiplied past 64 bits",
        "data.dates:_hours",
        'unit in ("Y", "M", "W", "D")',
        "False",
        f"{TYPES} -k years_one_to_9999",
    ),
    Mutant(
        "datetime64 no moment among objects",
        "data.dates:_moment",
        "kind is np.datetime64",
        "False",
        f"{TYPES} -k among_datetime64",
    ),
    Mutant(
        "a datetime's own code runs",
        "data.dates:_hour",
        "dt.datetime.hour.__get__(moment)",
        "moment.hour",
        f"{TYPES} -k subclass",
    ),
    Mutant(
        "a quote that is not closed let through",
        "data.lines:LineReader._counted",
        "np.bincount(owners, minlength=len(ends)) % 2 == 1",
        "np.zeros(len(ends), dtype=bool)",
        f"{LINES} -k hostile_line",
    ),
    Mutant(
        "a line of more fields let through",
        "data.lines:LineReader.checked",
        "counts != self._count",
        "counts < self._count",
        f"{LINES} -k hostile_line",
    ),
    Mutant(
        "a long line read where a block holds it",
        "data.lines:LineReader.checked",
        "broken |= ends - starts > LONGEST",
        "",
        f"{LINES} -k block_ends",
    ),
    Mutant(
        "a mark of byte order dropped where a block begins",
        "data.lines:LineReader.checked",
        "unusual[0] |= text.startswith(_MARK)",
        "",
        f"{LINES} -k block_ends",
    ),
    Mutant(
        "rows shrunk in the precision that one of them gave all",
        "estimators.unit_ball:into_unit_ball",
        "np.multiply(X[span], factors[span, None], out=shrunk[span], dtype=np.float64, casting='unsafe')",
        "np.multiply(X[span], factors[span, None], out=shrunk[span], dtype=X.dtype, casting='unsafe')",
        "tests/estimators/test_float32.py",
    ),
    Mutant(
        "an unfit type lost in silence",
        "data.tables:_checked.checked",
        "require_type(column, schema, name)",
        "pass",
        f"{TYPES} -k unfit_type",
    ),
    Mutant(
        "an unfit type of Parquet lost in silence",
        "data.pieces:PieceReader._checked",
        "require_type(words, self._schema, name)",
        "pass",
        f"{TYPES} -k unfit_type",
    ),
    Mutant(
        "a record of pandas decides what is refused",
        "data.sources:PandasSource",
        "typed = False",
        "typed = True",
        f"{TYPES} -k pandas_takes_types",
    ),
    Mutant(
        "PostgreSQL's numeric not unwrapped",
        "data.cells:unwrapped",
        "column = column.storage",
        "pass",
        f"{TYPES} -k postgresql",
    ),
    Mutant(
        "files of several types joined",
        "data.parquet:_one",
        "batch.schema.types",
        "0",
        f"{TYPES} -k differ_in_type",
    ),
    Mutant(
        "a file's old time believed",
        "data.parquet:_identity",
        "state.st_ctime_ns",
        "0",
        f"{TYPES} -k rewritten",
    ),
    Mutant(
        "every label compared with every other",
        "data.cell:_unshared",
        "counts[one] == 1",
        "listed.count(one) == 1",
        f"{TYPES} -k codebook",
    ),
    Mutant(
        "a key with a fraction is none",
        "data.persons:_digits",
        "repr(found)",
        "None",
        f"{TYPES} -k keys_of_any_type",
    ),
    Mutant(
        "truth values in an array are keys",
        "data.persons:_keys",
        'plain.dtype.kind not in "iufc"',
        "False",
        f"{TYPES} -k keys_in_an_array",
    ),
    Mutant(
        "the decimal mark is guessed from the records",
        "data.csv_files:with_points",
        "[_with_point(word) for word in coded.dictionary.to_pylist()]",
        "[word if b'1.5' in coded.dictionary.to_pylist() else _with_point(word) "
        "for word in coded.dictionary.to_pylist()]",
        "tests/data/test_formats.py -k one_by_one",
    ),
    Mutant(
        "dates taken for keys",
        "data.persons:require_key_type",
        "_may_be_key(held.type)",
        "True",
        f"{TYPES} -k keys_or_weights",
    ),
    Mutant(
        "two columns of one name",
        "data.sources:ParquetFile.__init__",
        "len(set(self._names)) < len(self._names)",
        "False",
        f"{TYPES} -k one_name",
    ),
    Mutant(
        "columns without marginals first read after a charge",
        "fitting:fit",
        "bent and (apart := left_out(schema)) is not None",
        "(apart := left_out(schema)) is not None and not bent",
        "tests/features/test_additive.py -k before_the_first_charge",
    ),
    Mutant(
        "rows of one record taken for those of a person",
        "problem:Problem.promised_to",
        "'record' if self.alone else self.unit",
        "self.unit",
        "tests/data/test_survival.py -k promise_is_for_records",
    ),
    Mutant(
        "every row at risk counts as a record",
        "data.persons:Persons.shares",
        "np.where(rows == 1, 1.0, (1.0 - SHARE_MARGIN) / np.maximum(rows, 1))",
        "np.ones(len(rows))",
        "tests/attacks/test_doors.py -k 'fits and event'",
    ),
)
