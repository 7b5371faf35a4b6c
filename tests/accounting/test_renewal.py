"""Budgets over time and over teams: parts divide a cap, accounts follow each other, days end them."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sottovoce.accounting import Budget, GaussianEvent, Ledger, QueryKind, Run, verify
from sottovoce.accounting.allowance import lattice_cap
from sottovoce.accounting.disk import sqlite_store
from sottovoce.accounting.disk.renewal import allot, renew
from sottovoce.accounting.disk.statement import entries, of_folder
from sottovoce.accounting.gdp import delta_of, mu_of
from sottovoce.cli import application
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError
from sottovoce.planning.schedule import schedule
from sottovoce.report.ledger import render_folder

CAP = Budget(2.0, 1e-6)
RELATIONS = ("replace-one", "zero-out")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "budget.db", dataset="d", cap=CAP)
    return tmp_path / "budget.db"


def opened(path: Path, part: str = "") -> Ledger:
    return Ledger.open(path, dataset="d", part=part)


def charge(run: Run, units: int) -> None:
    run.charge(GaussianEvent(QueryKind.GRADIENT, run.currency.mu_squared(units) ** 0.5, 1.0, 3, 0.0))


def parts(path: Path, **epsilons: float) -> None:
    for part, epsilon in epsilons.items():
        allot(path, dataset="d", part=part, budget=Budget(epsilon, 1e-6))


def test_a_part_spends_its_own_and_no_more_and_others_leave_it_alone(path: Path) -> None:
    parts(path, risk=1.0)
    risk, rest = opened(path, "risk"), opened(path)
    assert risk.units_left == Ledger(Budget(1.0, 1e-6)).units_cap
    assert rest.units_left == rest.units_cap - risk.units_left
    with pytest.raises(BudgetExceeded):
        risk.start(Budget(1.01, 1e-6), "too much")
    with pytest.raises(BudgetExceeded):
        rest.start(Budget(1.9, 1e-6), "what is risk's")
    with risk.start(Budget(1.0, 1e-6), "whole") as run:
        charge(run, run.units_cap)
    assert risk.units_left == 0
    left = rest.units_left
    with pytest.raises(BudgetExceeded):
        charge(risk.run(Budget(0.1, 1e-6)), 1)
    assert rest.units_left == left
    with rest.start(Budget(1.6, 1e-6), "rest") as run:
        charge(run, run.units_cap)
    (told,) = verify(path).datasets
    assert [(kept.name, kept.spent) for kept in told.parts] == [("risk", run_units(path, "risk"))]
    assert json.loads(json.dumps(entries(path)))[-1]["kind"] == "end of a run"


def test_noise_on_a_lattice_stays_within_what_the_whole_cap_allows(path: Path) -> None:
    """The smaller epsilon, the more of it a run alone may have: parts have more than their whole."""
    parts(path, risk=0.5)
    ledger = opened(path, "risk")
    whole = lattice_cap(CAP)
    assert lattice_cap(Budget(0.5, 1e-6)) > 2 * whole
    step = math.sqrt(0.7 * whole / (0.0202 * 2.0**100))
    run = ledger.run(Budget(0.4, 1e-6))
    event = GaussianEvent(QueryKind.GRADIENT, 0.001, 1.0, 1, step)
    run.charge(event)
    with pytest.raises(BudgetExceeded):
        run.charge(event)
    assert sum(grant.lattice for grant in ledger.history) <= whole


def run_units(path: Path, part: str) -> int:
    return sum(grant.units for grant in opened(path).history if grant.part == part)


def test_what_does_not_fit_is_not_allotted_and_no_part_is_made_smaller_than_it_spent(path: Path) -> None:
    parts(path, one=1.2, two=1.2)
    with pytest.raises(BudgetExceeded):
        parts(path, three=1.5)
    with opened(path, "one").start(Budget(1.0, 1e-6), "run") as run:
        charge(run, run.units_cap)
    with pytest.raises(BudgetExceeded):
        parts(path, one=0.9)
    parts(path, one=1.1)
    with pytest.raises(ParameterError):
        parts(path, **{" ": 0.1})
    with pytest.raises(ParameterError):
        allot(path, dataset="d", part="four", budget=Budget(0.1, 1e-6, "zero-out"))
    with pytest.raises(LedgerError):
        opened(path, "five")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_allotted_reserved_and_charged_parts_and_cap_are_kept(seed: int, path: Path) -> None:
    """Random allotments, runs and charges: the sums that a reader of the file makes for himself."""
    luck = random.Random(seed)
    names, open_runs = ("", "a", "b"), list[Run]()
    ledgers = {"": opened(path)}
    cap = ledgers[""].units_cap
    for _ in range(60):
        name = luck.choice(names)
        try:
            match luck.randrange(4):
                case 0 if name:
                    parts(path, **{name: luck.choice((0.3, 0.8, 1.2, 1.6))})
                    ledgers[name] = opened(path, name)
                case 1 if name in ledgers and len(open_runs) < 4:
                    open_runs.append(
                        ledgers[name].start(Budget(luck.choice((0.2, 0.5, 1.0)), 1e-6), f"run {name}")
                    )
                case 2 if open_runs:
                    charge(luck.choice(open_runs), luck.choice((cap // 50, cap // 10)))
                case 3 if open_runs:
                    open_runs.pop(luck.randrange(len(open_runs))).close()
        except BudgetExceeded:
            pass
    (told,) = verify(path).datasets
    assert sum(grant.units for grant in ledgers[""].history) <= cap
    for kept in told.parts:
        assert run_units(path, kept.name) == kept.spent <= kept.allotted
    held = {
        name: told.account.used(name).units
        if name not in told.account.parts
        else max(told.account.used(name).units, told.account.parts[name].allotted.units)
        for name in {*told.account.parts, ""}
    }
    assert sum(held.values()) <= cap


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("unit", ["record", "person"])
def test_an_account_says_what_whoever_is_in_all_it_follows_can_lose(
    relation: str, unit: str, tmp_path: Path
) -> None:
    """Attained: Gaussian answers worth all caps together are no more private than is said, within rounding;
    and not less: delta at the epsilon that is said is within the delta that is said."""
    path, budget = tmp_path / "budget.db", Budget(1.0, 1e-6, relation)
    Ledger.create(path, dataset="2025", cap=budget, unit=unit)
    renew(path, dataset="2026", following="2025")
    renew(path, dataset="2027", following="2026", cap=Budget(0.5, 1e-6, relation))
    first, second, third = verify(path).datasets
    assert first.over_time == ""
    assert [earlier.name for earlier in third.before] == ["2025", "2026"]
    for told, caps in ((second, (1.0, 1.0)), (third, (1.0, 1.0, 0.5))):
        epsilon, delta = (
            float(told.over_time.split(f"{name}=")[1].split()[0].rstrip(",")) for name in ("epsilon", "delta")
        )
        mu = math.sqrt(sum(mu_of(one, 1e-6) ** 2 for one in caps))
        assert delta_of(mu, epsilon) <= delta
        assert delta_of(mu, 0.99 * epsilon) > 1e-6
        assert f"A {unit} in one" in told.over_time
        assert relation in told.over_time
    assert Ledger.open(path, dataset="2027").unit == unit
    other = next(one for one in RELATIONS if one != relation)
    with pytest.raises(ParameterError):
        renew(path, dataset="2028", following="2027", cap=Budget(1.0, 1e-6, other))
    with pytest.raises(LedgerError):
        renew(path, dataset="2028", following="1999")


def test_accounts_that_follow_each_other_have_caps_of_their_own(path: Path) -> None:
    new = renew(path, dataset="e", following="d")
    with opened(path).start(Budget(1.9, 1e-6), "old") as run:
        charge(run, run.units_cap)
    assert new.units_left == new.units_cap


def test_after_its_last_day_an_account_is_charged_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger.create(path, dataset="d", cap=CAP, expires="2997-12-31")

    class Clock:
        today = datetime(2997, 12, 31, 23, 59)

        @classmethod
        def now(cls, zone: Any) -> datetime:
            return cls.today.replace(tzinfo=zone)

    monkeypatch.setattr(sqlite_store, "datetime", Clock)
    run = ledger.start(Budget(1.0, 1e-6), "in time")
    charge(run, 1000)
    Clock.today = datetime(2998, 1, 1, 0, 1)
    with pytest.raises(BudgetExceeded):
        charge(run, 1000)
    with pytest.raises(BudgetExceeded):
        ledger.start(Budget(0.1, 1e-6), "late")
    assert len(ledger.history) == 1
    for wrong in ("tomorrow", "2027-13-01", "2026-01-01"):
        with pytest.raises(ParameterError):
            Ledger.create(path, dataset="e", cap=CAP, expires=wrong)


def test_an_export_has_every_entry_and_a_folder_every_account(path: Path) -> None:
    parts(path, risk=1.0)
    with opened(path, "risk").start(Budget(0.5, 1e-6), "run, with a comma") as run:
        charge(run, 1000)
    shell, app = CliRunner(), application("ledger")
    for name in ("out.csv", "out.json"):
        done = shell.invoke(app, ["ledger", "export", str(path), "-o", str(path.parent / name)])
        assert done.exit_code == 0, done.output
    with (path.parent / "out.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    plain = json.loads((path.parent / "out.json").read_text())
    assert [row["seal"] for row in rows] == [row["seal"] for row in plain]
    assert len(rows) == len(verify(path).lines)
    assert [row["part"] for row in rows if row["kind"] == "charge"] == ["risk"]
    (path.parent / "notes.txt").write_text("no ledger")
    Ledger.create(path.parent / "other.db", dataset="<b>", cap=CAP)
    damaged = path.parent / "damaged.db"
    damaged.write_bytes((path.parent / "other.db").read_bytes()[:4096])
    found, refused = of_folder(path.parent)
    assert [Path(one.path).name for one in found] == ["budget.db", "other.db"]
    assert list(refused) == ["damaged.db"]
    page = render_folder(str(path.parent), found, refused)
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert all(name in page for name in ("risk", "damaged.db", "other.db"))


def test_commands_allot_renew_and_pay_from_a_part(path: Path) -> None:
    shell, app = CliRunner(), application("ledger")

    def said(*words: str) -> str:
        done = shell.invoke(app, ["ledger", *words])
        assert done.exit_code == 0, done.output
        return done.output

    said("allot", str(path), "--dataset", "d", "--part", "risk", "--epsilon", "1")
    told = said("renew", str(path), "--dataset", "e", "--following", "d", "--expires", "2997-01-01")
    assert "in all 2 of them" in told
    shown = said("show", str(path))
    assert "risk: epsilon=1" in shown
    assert "2997-01-01" in shown
    assert "in all 2 of them" in said("overview", str(path.parent))
    raw = json.loads(said("show", str(path), "--json"))
    assert [part["follows"] for part in raw["datasets"]] == [[], ["d"]]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("every", "span", "runs"), [("day", "year", 365), ("2 weeks", "year", 26), ("month", "3 years", 36)]
)
def test_a_schedule_costs_what_its_runs_compose_to(relation: str, every: str, span: str, runs: int) -> None:
    found = schedule(every, span, Budget(0.1, 1e-8, relation))
    assert found.runs == runs
    epsilon, delta = found.together
    mu = math.sqrt(runs) * mu_of(0.1, 1e-8)
    assert delta_of(mu, epsilon) <= delta
    assert delta_of(mu, 0.99 * epsilon) > 1e-8
    each = math.sqrt(runs) * mu_of(found.each, 1e-8)
    assert delta_of(each, 0.1) <= 1e-8
    assert relation in str(found)


def test_a_schedule_is_some_runs(path: Path) -> None:
    budget = Budget(1.0, 1e-6)
    for every, span in itertools.product(("day", "fortnight", "-1 days", "nan days"), ("century", "0 years")):
        with pytest.raises(ParameterError):
            schedule(every, span, budget)
    with pytest.raises(ParameterError):
        schedule("year", "day", budget)
    taken = schedule("quarter", "year", budget)
    ledger = Ledger(budget)
    for place in range(4):
        run = ledger.start(Budget(taken.each, 1e-6), str(place))
        charge(run, run.units_cap)
