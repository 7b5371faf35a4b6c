"""What may come out of a call that was fed nonsense, and the values that must never come out."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import sottovoce as sv

SECRET_NUMBER = 918273.6455
SECRET_TEXT = "Zanzibar"
SIGNS = ("918273", "918,273", "9.18", SECRET_TEXT)

SCIKIT_LEARN = (NotFittedError, TypeError)
"""What its rules ask of an estimator besides: before `fit`, and where an entry is no number."""

NO_NUMBER = "an entry of X or y is no number"

Draw = np.random.Generator


class LeakError(AssertionError):
    """A data value was found where it must not be."""


def guarded(call: Callable[[], Any]) -> Any:
    """The call's result, or None if it was refused in a documented way. Anything else is a finding."""
    try:
        result = call()
    except (sv.errors.SottovoceError, *SCIKIT_LEARN) as refusal:
        if isinstance(refusal, TypeError) and not str(refusal).startswith(NO_NUMBER):
            raise
        require_clean(refusal)
        return None
    if result is not None and SECRET_TEXT in (said := repr(result)):
        raise LeakError(f"a repr shows data: {said[:60]}")
    return result


def require_clean(refusal: BaseException) -> None:
    """Message, causes, contexts, suppressed or not, and the traceback as printed."""
    texts, todo = ["".join(traceback.format_exception(refusal))], [refusal]
    while todo:
        error = todo.pop()
        texts += [str(error), repr(error), repr(error.args)]
        todo += [linked for linked in (error.__cause__, error.__context__) if linked is not None]
    for sign in SIGNS:
        if any(sign in text for text in texts):
            raise LeakError(f"{type(refusal).__name__} shows data")


class Spiteful:
    """Fails whenever it is looked at, and says a secret."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError(f"{SECRET_TEXT} {SECRET_NUMBER}")

    __eq__ = __float__ = __int__ = __bool__ = __len__ = __iter__ = _fail  # type: ignore[assignment]
    __hash__ = object.__hash__


def odd(draw: Draw) -> Any:
    """A value that hardly any parameter expects."""
    pool: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: bool(draw.integers(2)),
        lambda: int(draw.integers(-3, 5)),
        lambda: float(draw.choice([0.0, -0.0, -1.0, 0.5, 1e-320, 1e308, np.nan, np.inf, -np.inf])),
        lambda: 10**400,
        lambda: str(draw.choice(["", "zero", "raise", "\x00", "é" * 300, "majorize", "tight"])),
        lambda: b"\xff",
        list,
        dict,
        lambda: (0.0, 1.0),
        lambda: (1, 0),
        lambda: ("a", "b"),
        lambda: (-1, 1),
        lambda: np.float32(draw.normal()),
        lambda: np.int64(draw.integers(-2, 3)),
        lambda: np.array([np.nan, 1.0]),
        lambda: np.zeros((2, 2)),
        lambda: object(),
        lambda: complex(1, 1),
        lambda: lambda: None,
        lambda: sv.Budget(1.0, 1e-5),
        lambda: sv.Tolerance(gradient=0.5, curvature=0.5),
    )
    return pool[draw.integers(len(pool))]()


def spoiled(draw: Draw, raw: Any, most: int = 3) -> Any:
    """JSON-like values with a few parts removed, replaced, repeated or nested."""
    for _ in range(int(draw.integers(1, most + 1))):
        raw = _spoil(draw, raw)
    return raw


def _spoil(draw: Draw, raw: Any) -> Any:
    if isinstance(raw, dict) and raw and draw.random() < 0.9:
        copy, key = dict(raw), list(raw)[draw.integers(len(raw))]
        choice = draw.random()
        if choice < 0.2:
            del copy[key]
        elif choice < 0.3:
            copy[f"{key}x"] = copy[key]
        else:
            copy[key] = _spoil(draw, copy[key])
        return copy
    if isinstance(raw, list | tuple) and len(raw) and draw.random() < 0.7:
        copy_, place = list(raw), int(draw.integers(len(raw)))
        copy_[place] = _spoil(draw, copy_[place])
        return copy_
    plain = (
        None,
        True,
        -1,
        0,
        10**30,
        1e308,
        float("nan"),
        "",
        "x",
        "1e9",
        [],
        [[]],
        {},
        {"a": 1},
        [None],
        [1, "a"],
    )
    return plain[draw.integers(len(plain))]


def smudged(draw: Draw, content: bytes) -> bytes:
    """Bytes overwritten, removed, repeated or cut."""
    for _ in range(int(draw.integers(1, 4))):
        start = int(draw.integers(len(content) + 1))
        stop = min(len(content), start + int(draw.choice([1, 4, 64, 2000])))
        choice = draw.integers(4)
        filling = draw.bytes(stop - start) if choice == 0 else content[start:stop] * 2 if choice == 1 else b""
        content = content[:start] if choice == 3 else content[:start] + filling + content[stop:]
    return content
