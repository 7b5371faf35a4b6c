"""Compact rows that stand for other vectors than the dense ones, or whose codes are read where none is."""

from __future__ import annotations

from tests.attacks.mutants.harness import Mutant

TESTS = "tests/kernels/test_compact.py"
COLUMNS = "tests/data/test_compact_columns.py"

COMPACT = (
    Mutant(
        "a code that means none counts as the last category",
        "kernels/compiled/compact_places.py",
        "        for k in range(plan.sizes[c]):\n            own[plan.slots[c] + k] = plan.units[c] * w",
        "        for k in range(plan.sizes[c] + 1):\n            own[plan.slots[c] + k] = plan.units[c] * w",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "codes past the declared ones read as they are",
        "kernels/compiled/compact_places.py",
        "min(np.uint32(given[i]), size) * stride",
        "np.uint32(given[i]) % np.uint32(size + 1) * stride",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "unit forgotten in the outer products of codes",
        "kernels/compiled/compact_outer.py",
        "unit = plan.units[c] * plan.units[d]",
        "unit = plan.units[c]",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "two code columns of a group share a stride",
        "kernels/compiled/compact_places.py",
        "            strides.append(held)\n",
        "            strides.append(1)\n",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "weights of codes of different groups never crossed",
        "kernels/compiled/compact_outer.py",
        "            for d in range(plan.firsts[g + 1], columns):",
        "            for d in range(plan.firsts[g + 1] + 1, columns):",
        f"{TESTS} -k any_code",
    ),
    Mutant(
        "blocks that lie together summed as one",
        "kernels/compiled/compact_sums.py",
        "        if first % length == 0:\n",
        "        if first == 0:\n",
        f"{TESTS} -k lie_together",
    ),
    Mutant(
        "second moments of blocks that lie together summed as one",
        "kernels/compiled/compact_outer.py",
        "        if first % length == 0:\n",
        "        if first == 0:\n",
        f"{TESTS} -k add_blocks_that",
    ),
    Mutant(
        "memory of a missing number read",
        "data/compiled/columns.py",
        "                    out[i] = 0.0\n",
        "                    out[i] = out[i]\n",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "numbers written into tiles not clipped",
        "data/compiled/columns.py",
        "(min(max(x, low), high) - middle)",
        "(x - middle)",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "rows written into tiles not measured",
        "data/compiled/columns.py",
        "short &= squares[i] <= largest",
        "short &= squares[i] == squares[i]",
        f"{COLUMNS} -k longer_than",
    ),
    Mutant(
        "a number near a declared one taken for it",
        "data/compiled/columns.py",
        "within and place + least == x",
        "within",
        f"{COLUMNS} -k any_type",
    ),
    Mutant(
        "rows without a target written into tiles as they are",
        "data/pieces.py",
        "            room.clear(unusable)\n",
        "            pass\n",
        f"{COLUMNS} -k target_of",
    ),
    Mutant(
        "words of a later batch not looked at",
        "data/pieces.py",
        "if words is column and not cells.is_text(column.type):",
        "if words is column:",
        f"{COLUMNS} -k its_own_words",
    ),
    Mutant(
        "what an earlier piece left in its padding kept",
        "data/compact_columns.py",
        "        out.clear_padding()\n",
        "",
        f"{COLUMNS} -k padding",
    ),
    Mutant(
        "blank rows keep their codes",
        "data/compact.py",
        "        self.codes[tiles, :, places] = self.layout.none\n",
        "",
        f"{TESTS} -k blank_row",
    ),
    Mutant(
        "compact rows not measured before they are let in",
        "data/compact_rows.py",
        "        insist_short(part.squares(), radius)\n",
        "",
        f"{TESTS} -k too_long",
    ),
    Mutant(
        "centring of the other categories forgotten in a row's length",
        "kernels/compiled/lengths.py",
        "found += [own + others,",
        "found += [own,",
        f"{TESTS} -k geometry",
    ),
    Mutant(
        "a centred blank row is as long as others",
        "kernels/compiled/lengths.py",
        "if constants[i] != 0.0:",
        "if True:",
        f"{TESTS} -k geometry",
    ),
    Mutant(
        "compact rows of a radius below 1 left as they are",
        "data/compact_rows.py",
        "LEAST_COMPACT = 1.0",
        "LEAST_COMPACT = 0.0",
        f"{TESTS} -k radius_below",
    ),
    Mutant(
        "fingerprint of a partition without its codes",
        "data/dask_partitions.py",
        "return features.numbers, features.codes",
        "return (features.numbers,)",
        f"{TESTS} -k fingerprint",
    ),
)
