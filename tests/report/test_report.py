"""The page: what it says, that its bytes are a function of the result and the date, that it asks nobody."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
import re
import warnings
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.accounting.guarantee import Guarantee
from sottovoce.accounting.wording import right_guess
from sottovoce.report import Card, render
from sottovoce.report.axes import DIGIT, WIDTH, Scale, across, tick_below, upward
from sottovoce.report.markup import element, number, percent
from sottovoce.report.page import SECTIONS
from tests import problems

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)


def clock() -> datetime:
    return datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def private(**options: object) -> sv.Result:
    return sv.minimize(problems.logistic(n=2000), budget=BUDGET, **options)  # type: ignore[arg-type]


class Checker(HTMLParser):
    """Every element closed in order; ids and references collected."""

    VOID = ("meta", "link", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "action", "poster", "data"):
                self.urls.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("method", ["majorize", "sigmoid", "tolerance", "simulated"])
def test_the_page_is_whole_and_refers_to_nothing_outside(method: str) -> None:
    result = {
        "majorize": lambda: private(),
        "sigmoid": lambda: sv.minimize(problems.sigmoid(n=3000), budget=BUDGET),
        "tolerance": lambda: private(tolerance=sv.Tolerance(gradient=0.3)),
        "simulated": lambda: private(simulate=3),
    }[method]()
    checker = Checker()
    page = render(result, clock=clock)
    checker.feed(page)
    assert checker.open == []
    shown = [name for name, _ in SECTIONS if name != "curves"]  # of additive models alone
    assert shown == [name for name in checker.ids if name != "tip"]
    assert all(url.startswith(("#", "data:")) for url in checker.urls)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page)


def test_the_policy_admits_the_pages_own_script_and_style_and_no_other() -> None:
    page = render(sv.minimize(problems.logistic(), budget=BUDGET, simulate=0), clock=clock)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1]
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"<[^>]* (style|on\w+)=", page)


def test_the_same_result_and_date_give_the_same_bytes() -> None:
    result = private()
    assert render(result, clock=clock) == render(sv.Result.from_dict(result.to_dict()), clock=clock)
    other = render(result, clock=lambda: datetime(2026, 5, 5, tzinfo=UTC))
    assert render(result, clock=clock).replace("2026-05-04", "2026-05-05") == other


def test_a_private_page_says_what_is_guaranteed_against_whom_in_words_and_symbols() -> None:
    page = render(private(), Card(dataset="Claims <2026>"), clock=clock)
    for words in (
        "Each of the 2,000 records",
        "Against whom",
        "(2, 10⁻⁵)-differential privacy",
        "e<sup>ε</sup> · P[M(D\u2032) ∈ S] + δ",
        "Claims &lt;2026&gt;",
        "at most 88.08\u00a0%",
        "No confidence intervals are available",
        "99\u00a0% confidence",
        "made on 2026-05-04",
    ):
        assert words in page
    assert "<2026>" not in page


def test_a_simulated_run_never_looks_private() -> None:
    page = render(private(simulate=0), clock=clock)
    assert "Not private" in page
    assert "Each of the 2,000 records" not in page
    assert "(2, 10⁻⁵)-differential privacy" not in page
    assert "It is drawn exactly on a lattice" not in page
    assert "protected roughly k times less;" not in page


def test_intervals_are_shown_where_they_hold() -> None:
    from tests.results.inference.populations import overlapping

    result = sv.minimize(overlapping(), budget=BUDGET, inference=0.3)
    page = render(result, clock=clock)
    assert result.inference is not None
    assert "Each interval is a 95\u00a0% confidence" in page
    assert page.count('class="sampling"') == 4
    assert page.count('data-label="95\u00a0% interval"') == 4
    assert "For a methods section" in page
    assert "No confidence intervals" not in page


def test_names_fit_or_are_not_used() -> None:
    result = private()
    named = render(result, Card(features=tuple("abcde"), unit=0.5), clock=clock)
    assert '<th scope="row">a</th>' in named
    short = render(result, Card(features=("a", "b")), clock=clock)
    assert '<th scope="row">weight 1</th>' in short


def test_a_budget_that_bought_nothing_still_gives_a_page() -> None:
    tiny = sv.Budget(epsilon=1e-4, delta=1e-12)
    result = sv.minimize(problems.logistic(n=10), budget=tiny, simulate=0)
    assert render(result, clock=clock)
    bare = dataclasses.replace(result, trace=(), spending={})
    assert "No gradient was released" in render(bare, clock=clock)


def test_the_best_guess_is_the_bound_of_differential_privacy() -> None:
    sharp = Guarantee(epsilon=1.0, delta=0.0, n=10)
    assert right_guess(sharp.epsilon, sharp.delta) == pytest.approx(2.718281828 / 3.718281828)
    assert right_guess(700.0, 0.5) <= 1.0


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_a_page_says_one_chance_of_a_right_guess(relation: str) -> None:
    result = sv.minimize(problems.logistic(n=2000), budget=sv.Budget(1.0, 1e-6, relation))
    said = re.findall(r"probability of at most ([\d.]+)", render(result, clock=clock).replace("\n", " "))
    assert said == ["73.11", "73.11"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.0123, "\u22120.0123"),
        (0.00210049, "0.0021"),
        (1e-6, "10⁻⁶"),
        (2.5e-9, "2.5\u00a0\u00d7\u00a010⁻⁹"),
        (123456.0, "123456"),
        (float("inf"), "∞"),
        (99.96, "100"),
        (-1e12, "\u221210¹²"),
    ],
)
def test_numbers_are_short_and_exact_enough(value: float, shown: str) -> None:
    assert number(value) == shown


def test_markup_escapes_what_it_is_given() -> None:
    assert element("p", "x", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;">x</p>'


@pytest.mark.parametrize("low", [1e-12, 0.5, 1e6])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 1e9])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_scales_hold_their_values_and_have_ticks(low: float, ratio: float, logarithmic: bool) -> None:
    scale = upward(low, low * ratio, logarithmic=logarithmic)
    assert scale.low <= low <= low * ratio <= scale.high
    assert 1 <= len(scale.ticks()) <= 12
    assert all(scale.end - 1e-9 <= scale.place(tick) <= scale.start + 1e-9 for tick in scale.ticks())
    assert across(1).place(0) > across(1).start


@pytest.mark.parametrize("high", [9.0, 200_000.0, 2.5e9])
def test_no_number_below_an_axis_is_cut_off_at_the_right(high: float) -> None:
    scale = Scale(0.0, high, 76.0, WIDTH - 14.0)
    for value in scale.ticks():
        drawn = re.search(r'x="([\d.]+)"', tick_below(scale, value, 0.0))
        assert drawn is not None
        assert float(drawn[1]) + DIGIT * len(number(value)) / 2.0 <= WIDTH + 0.01
        assert float(drawn[1]) <= scale.place(value) + 0.01


KEYS = {"stroke": 'class="line"', "dash": 'class="bound"', "noise": 'class="band'}


@pytest.mark.parametrize("silent", [False, True], ids=["noise known", "noise unknown"])
@pytest.mark.parametrize("bound", [0.3, math.inf])
def test_the_legend_names_what_is_drawn_and_nothing_else(bound: float, silent: bool) -> None:
    result = private(method="majorize")
    trace = tuple(
        dataclasses.replace(row, gradient_noise=None if silent else row.gradient_noise)
        for row in result.trace
    )
    certificate = dataclasses.replace(result.certificate, gradient_norm_at_most=bound)
    page = render(dataclasses.replace(result, trace=trace, certificate=certificate), clock=clock)
    figures = re.findall(r"<figure>.*?</figure>", page, re.S)
    assert figures
    for figure in figures:
        for key, drawn in KEYS.items():
            assert (f'class="key {key}"' in figure) == (drawn in figure), (key, bound, silent)


def test_no_number_breaks_over_lines() -> None:
    assert " " not in number(-1.234e-9) + number(12345678.0) + percent(0.5) + percent(1e-9).split("below ")[1]
    assert "\u00a0" in number(-1.234e-9)


def test_the_ledgers_cap_spent_and_left_are_told_where_they_are_known() -> None:
    page = render(private(), Card(account="of the cap of x, <b>1 %</b> is spent"), clock=clock)
    assert "of the cap of x, &lt;b&gt;1 %&lt;/b&gt; is spent" in page
    assert "The ledger: " not in render(private(), clock=clock)


def test_an_accuracy_that_was_not_measured_is_not_passed_over() -> None:
    assert "How well it predicts was not measured" in render(private(), clock=clock)


@pytest.mark.parametrize("simulate", [None, 3])
def test_every_question_of_an_evaluator_is_answered_from_the_result(simulate: int | None) -> None:
    """In the order of SP 800-226; what differs between runs is said as it is."""
    from sottovoce.report.hazards import YOURS, hazards, technical

    result = private(simulate=simulate)
    page, groups = render(result, clock=clock), hazards(result, Card())
    places = [page.index(title) for title in groups]
    assert places == sorted(places)
    answers = [one for group in groups.values() for one in group]
    assert all(one.asked.endswith("?") and one.told.endswith((".", "!")) for one in answers)
    assert all("`" not in one.told for one in answers)
    assert ("Nothing is promised" in answers[0].told) is (simulate is not None)
    assert "No ledger counted" in answers[3].told
    counted = hazards(result, Card(account="3 % is spent."))["Parameters and unit of privacy"][3]
    assert "3 % is spent." in counted.told
    blank = [one.asked for one in technical(result, Card()) if YOURS in one.told]
    named = Card(purpose="pricing", contact="me")
    filled = [one.asked for one in technical(result, named) if YOURS in one.told]
    assert set(filled) < set(blank)
    assert len(filled) <= 4


def test_green_is_for_a_promise_that_bought_something_and_who_was_held_out_is_protected_too() -> None:
    """At epsilon 0.005 noise hides every coefficient, at 20 an attacker's guess is nearly sure to be right;
    nothing here is simulated."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 8_000), "ill": rng.choice(["no", "yes"], 8_000)})
    schema = sv.Schema.from_dict(
        {
            "columns": {"age": {"type": "numeric", "low": 20, "high": 80}},
            "target": {"column": "ill", "classes": ["no", "yes"]},
        }
    )
    greens, empty = {}, {}
    for epsilon in (0.005, 2.5, 20.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = sv.fit(
                frame,
                schema,
                epsilon=epsilon,
                delta=1e-5,
                inference=sv.Inference(0.5, anyway=True),
                evaluate=0.25,
            )
        page = render(model.result, card=model.card())
        greens[epsilon] = 'class="lead"' in page
        empty[epsilon] = model.summary().nothing
        assert greens[epsilon] is not ('class="lead neutral"' in page)
        assert "Each of the 6,000 records." in page
        assert "Each of the 2,000 records held out is protected as well" in page
    assert empty == {0.005: True, 2.5: False, 20.0: False}
    assert greens == {0.005: False, 2.5: True, 20.0: False}
