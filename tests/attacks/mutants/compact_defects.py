"""Compact rows that stand for other vectors than the dense ones, or whose codes are read where none is."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

TESTS = "tests/kernels/test_compact.py"
COLUMNS = "tests/data/test_compact_columns.py"

COMPACT = (
    Mutant(
        "a code that means none counts as the last category",
        "kernels.compiled.compact_places:tables",
        "plan.sizes[c]",
        "plan.sizes[c] + 1",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "codes past the declared ones read as they are",
        "kernels.compiled.compact_places:tile_places",
        "min(np.uint32(given[i]), size)",
        "np.uint32(given[i]) % np.uint32(size + 1)",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "unit forgotten in the outer products of codes",
        "kernels.compiled.compact_outer:_spread_out",
        "plan.units[c] * plan.units[d]",
        "plan.units[c]",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "two code columns of a group share a stride",
        "kernels.compiled.compact_places:_grouped",
        "strides.append(held)",
        "strides.append(1)",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "weights of codes of different groups never crossed",
        "kernels.compiled.compact_outer:_add_crossed",
        "range(plan.firsts[g + 1], columns)",
        "range(plan.firsts[g + 1] + 1, columns)",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "blocks that lie together summed as one",
        "kernels.compiled.compact_sums:_tangent",
        "first % at.length",
        "first",
        f"{TESTS} -k lie_together",
    ),
    Mutant(
        "every block of compact rows added to the first stretch",
        "kernels.compiled.compact_sums:_tangent",
        "((last - 1) // at.length + at.done) // at.share",
        "0",
        f"{TESTS} -k lie_together",
    ),
    Mutant(
        "sums of dense blocks run on into the next",
        "kernels.compiled.block_sums:_dense_tangent",
        "sums[:] = 0.0",
        "sums[0] = 0.0",
        f"{TESTS} -k lie_together",
    ),
    Mutant(
        "gains of dense blocks run on into the next",
        "kernels.compiled.block_sums:_dense_trials",
        "gains[:] = 0.0",
        "gains[0] = 0.0",
        f"{TESTS} -k lie_together",
    ),
    Mutant(
        "second moments of blocks that lie together summed as one",
        "kernels.compiled.compact_outer:add_outer",
        "first % length",
        "first",
        f"{TESTS} -k add_blocks_that",
    ),
    Mutant(
        "memory of a missing number read",
        "data.compiled.columns:scale",
        "out[i] = 0.0",
        "out[i] = out[i]",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "numbers written into tiles not clipped",
        "data.compiled.columns:scale",
        "min(max(x, low), high)",
        "x",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "rows written into tiles not measured",
        "data.compiled.columns:are_short",
        "squares[i] <= largest",
        "squares[i] == squares[i]",
        f"{COLUMNS} -k longer_than",
    ),
    Mutant(
        "a number near a declared one taken for it",
        "data.compiled.columns:match",
        "within and place + least == x",
        "within",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "rows without a target written into tiles as they are",
        "data.pieces:PieceReader._write",
        "room.clear(unusable)",
        "pass",
        f"{COLUMNS} -k target_of",
    ),
    Mutant(
        "words of a later batch not looked at",
        "data.pieces:PieceReader._checked",
        "words is column and (not has_cells_to_check(column))",
        "words is column",
        f"{COLUMNS} -k its_own_words",
    ),
    Mutant(
        "what an earlier piece left in its padding kept",
        "data.compact_columns:TileWriter.write",
        "out.clear_padding()",
        "",
        f"{COLUMNS} -k padding",
    ),
    Mutant(
        "blank rows keep their codes",
        "data.compact:Compact.clear",
        "self.codes[tiles, :, places] = self.layout.none",
        "",
        f"{TESTS} -k blank_row",
    ),
    Mutant(
        "compact rows not measured before they are let in",
        "data.compact_rows:bound_compact",
        "require_short(part.squares(), radius)",
        "",
        f"{TESTS} -k too_long",
    ),
    Mutant(
        "centring of the other categories forgotten in a row's length",
        "kernels.compiled.compact_lengths:_table",
        "own + others",
        "own",
        f"{TESTS} -k preconditioner",
    ),
    Mutant(
        "a centred blank row is as long as others",
        "kernels.compiled.compact_lengths:_compact",
        "constants[i] != 0.0",
        "True",
        f"{TESTS} -k preconditioner",
    ),
    Mutant(
        "compact rows of a radius below 1 left as they are",
        "data.compact_rows",
        "LEAST_COMPACT = 1.0",
        "LEAST_COMPACT = 0.0",
        f"{TESTS} -k radius_below",
    ),
    Mutant(
        "fingerprint of a partition without its codes",
        "data.dask_partitions:_arrays",
        "(features.numbers, features.codes)",
        "(features.numbers,)",
        f"{TESTS} -k fingerprint",
    ),
)
