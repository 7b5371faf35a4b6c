"""Small helpers for HTML: elements with escaped content, and numbers as people read them."""

from __future__ import annotations

import html
import math

Attributes = str | int | float | None


def element(tag: str, content: str = "", /, **attributes: Attributes) -> str:
    """An element around markup; attribute names lose a trailing _ and turn inner ones to hyphens."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{content}</{tag}>"


def text(value: object) -> str:
    """Plain text, safe inside an element."""
    return html.escape(str(value), quote=False)


def number(value: float, digits: int = 3) -> str:
    """Three significant digits, a true minus sign, and a power of ten for the very large and small;
    no line ends inside."""
    if value == 0.0:
        return "0"
    if not math.isfinite(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    rounded = float(f"{value:.{digits - 1}e}")
    size = math.floor(math.log10(abs(rounded)) + 1e-9)
    if -5 < size < 6:
        plain = f"{value:.{max(0, digits - 1 - size)}f}"
        shown = plain.rstrip("0").rstrip(".") if "." in plain else plain
    else:
        mantissa = f"{rounded / 10.0**size:.{digits - 1}f}".rstrip("0").rstrip(".")
        power = "10" + str(size).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        shown = {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}\u00a0\u00d7\u00a0{power}")
    return shown.replace("-", "\u2212")


def percent(share: float) -> str:
    return f"{100.0 * share:.1f}\u00a0%" if share == 0.0 or share >= 0.0005 else "below 0.1\u00a0%"


def level(confidence: float) -> str:
    """A confidence such as 0.99 as 99 %."""
    return f"{100.0 * confidence:.6g}\u00a0%"


def _text(value: Attributes) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def capital(words: str) -> str:
    """The same with a capital first; the others stay, as in ROC."""
    return words[:1].upper() + words[1:]
