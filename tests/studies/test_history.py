"""Ratios over commits: a slower pass is found, a new one is none, other machines do not compare."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.history.entries import Entry, last_on, read, regressions, write

LAST = Entry("abc", "2026-01-01 00:00", "a processor", 2, 0.1, {"gradient": 2.0, "Hessian": 8.0})


def test_a_pass_that_became_slower_or_vanished_is_found():
    assert regressions(LAST, LAST) == []
    assert regressions(LAST, replace(LAST, ratios={"gradient": 2.49, "Hessian": 1.0, "new": 99.0})) == []
    assert regressions(LAST, replace(LAST, ratios={"gradient": 2.51, "Hessian": 8.0})) == ["gradient"]
    assert regressions(LAST, replace(LAST, ratios={"gradient": 2.0})) == ["Hessian"]


def test_measuring_again_can_only_clear_a_pass():
    slow = replace(LAST, ratios={"gradient": 5.0, "Hessian": 8.0})
    assert regressions(LAST, slow.best(LAST)) == []
    assert regressions(LAST, slow.best(slow)) == ["gradient"]


def test_entries_of_another_machine_do_not_compare(tmp_path):
    file = tmp_path / "ratios.jsonl"
    assert read(file) == []
    newer = replace(LAST, commit="def")
    for entry in (LAST, newer, replace(LAST, threads=8), replace(LAST, processor="another")):
        write(entry, file)
    assert len(read(file)) == 4
    assert last_on(read(file), LAST) == newer
    assert last_on(read(file), replace(LAST, threads=3)) is None


def test_the_kept_history_can_be_read():
    assert read()
    assert all(ratio > 0.0 for entry in read() for ratio in entry.ratios.values())
