"""The page in a real browser: nothing asked of any server, no error, every section there at every width."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.report import Card, render
from sottovoce.report.page import SECTIONS
from tests import problems
from tests.features.test_additive import SCHEMA, people
from tests.results.inference.populations import overlapping

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)
CONTRAST = """() => {
  const shade = (c) => c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => { const [r, g, b] = shade(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const parse = (s) => s.match(/[\\d.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c.slice(0, 3);
    }
  };
  const bad = [];
  const worded = "p, li, dt, dd, th, td, h1, h2, h3, a, summary, figcaption, small, text";
  for (const e of document.querySelectorAll(worded)) {
    const style = getComputedStyle(e);
    const ink = parse(e.tagName === "text" ? style.fill : style.color).slice(0, 3);
    const [a, b] = [light(ink), light(behind(e.closest("section, header, body")))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(e.tagName + ": " + e.textContent.slice(0, 30));
  }
  return bad;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    named = Card(
        dataset="Claims 2026 of the northern and the southern branch",
        features=("age", "a_rather_long_column_name=with a long category", "years", "intercept"),
        unit=0.4,
        target="claim",
        schema_digest="0123456789abcdef" * 4,
    )
    bent = sv.fit(people(2_000), SCHEMA, epsilon=2.0, delta=1e-6, model="additive")
    results = {
        "curves": (bent.result, bent.card()),
        "intervals": (sv.minimize(overlapping(), budget=BUDGET, inference=0.3), named),
        "nonconvex": (sv.minimize(problems.sigmoid(n=5000), budget=BUDGET, simulate=1), None),
        "wide": (sv.minimize(problems.logistic(n=3000, dim=60), budget=BUDGET), None),
    }
    for name, (result, card) in results.items():
        (folder / f"{name}.html").write_text(render(result, card), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in results}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["curves", "intervals", "nonconvex", "wide"])
def test_the_page_opens_quietly_and_shows_every_section(
    name: str, width: int, scheme: str, pages: dict[str, Path], browser: Any
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name].as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]
    for section, title in SECTIONS:
        if section == "curves" and name != "curves":
            assert not page.locator("#curves").count()
            continue
        assert page.locator(f"#{section}").is_visible()
        assert page.locator(f"#{section} h2").inner_text() == title
        assert page.locator(f"#{section}").bounding_box()["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    page.close()


def test_hovering_a_mark_tells_its_value_and_leaving_takes_it_away(
    pages: dict[str, Path], browser: Any
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages["intervals"].as_uri())
    assert page.locator("#tip").is_hidden()
    page.locator("#steps .chart .mark .dot").nth(3).hover()
    assert "step" in page.locator("#tip").inner_text()
    assert "noise alone" in page.locator("#tip").inner_text()
    page.locator("h1").hover()
    assert page.locator("#tip").is_hidden()
    page.close()


def test_without_scripts_the_page_still_says_everything(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["intervals"].as_uri())
    assert page.locator("svg.chart title").count() > 6
    assert page.locator("svg[role=img]:not([aria-label])").count() == 0
    context.close()
