"""What notebooks show is offline, escaped, readable on any background, and says the promise."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import sottovoce as sv
from sottovoce.report.notebook import panel
from tests.tables import TWO, write

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """HTML of everything that has some."""
    folder = tmp_path_factory.mktemp("notebook")
    write(folder / "data.csv", 400)
    ledger = sv.Ledger.create(folder / "l.db", dataset="people", cap=sv.Budget(3.0, 1e-5))
    model = sv.fit(
        folder / "data.csv",
        TWO,
        epsilon=1.0,
        delta=1e-5,
        inference=sv.Inference(0.3, anyway=True),
        evaluate=0.2,
        ledger=ledger,
        about=sv.About(dataset=HOSTILE, purpose=HOSTILE, contact=HOSTILE),
    )
    plan = sv.plan(n=20_000, dim=10, loss=sv.losses.Logistic(), budget=sv.Budget(1.0, 1e-6), timed=False)
    things = (model, model.result, model.result.certificate, model.summary(), ledger, plan)
    return {type(thing).__name__: thing._repr_html_() for thing in things}


class Tags(HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_six_things_are_shown(shown: dict[str, str]) -> None:
    assert set(shown) == {"Model", "Result", "Certificate", "Summary", "Ledger", "Plan"}


def test_nothing_is_fetched_run_or_coloured(shown: dict[str, str]) -> None:
    for name, page in shown.items():
        for tag, given in Tags(page).found:
            assert tag not in ("script", "link", "img", "iframe", "style"), name
            assert not {"src", "href", "onclick", "onload"} & set(given), name
            style = given.get("style") or ""
            colours = re.findall(r"(?:color|background): *([\w#]+)", style)
            assert set(colours) <= {"inherit", "transparent", "currentColor"}, name


def test_names_are_escaped_and_the_promise_is_told(shown: dict[str, str]) -> None:
    assert HOSTILE not in "".join(shown.values())
    assert shown["Model"].count("&lt;script&gt;") == 3
    for name in ("Model", "Result"):
        assert "right one with a probability of at most" in shown[name]
        assert "differential privacy" in shown[name]
    assert "accuracy lost to privacy" in shown["Plan"]
    assert "more of epsilon" in shown["Ledger"]


def test_an_empty_fact_has_no_row() -> None:
    assert panel("t", [("a", ""), ("b", "x")]).count("<tr>") == 1
