"""Errors of the library in the words of the command line."""

from __future__ import annotations

import re

_CREATE = "`sottovoce ledger create FILE --dataset NAME --epsilon E --delta D`"
_PHRASES = (
    ("Schema.template(names) writes one", "`sottovoce schema` writes one"),
    ("Schema.template shows one", "`sottovoce schema` shows one"),
    ("weight and weight_cap go", "--weight and --weight-cap go"),
    ("Ledger.create(path, dataset=..., cap=Budget(epsilon=..., delta=...))", _CREATE),
    ("Ledger.create(path, dataset=..., cap=...)", _CREATE),
    ("Ledger.create makes a new one", "`sottovoce ledger create` makes a new one"),
    ("Ledger.open(path, dataset=...)", "--ledger FILE --dataset NAME"),
    ("a run with ledger=Ledger.open(...)", "a run with --ledger FILE --dataset NAME"),
    ("verify(path, anchor=result)", "`sottovoce ledger verify FILE --anchor MODEL`"),
    ("sottovoce.accounting.adopt(path)", "`sottovoce ledger adopt FILE`"),
    ("Tolerance(gradient=..., curvature=...)", "--tolerance and --curvature"),
    ("Records.from_arrays(..., groups=keys, persons=20_000)", "--persons 20000"),
    ("persons counts the people named by groups: pass groups too", "--persons needs --person COLUMN"),
    ("best_order finds a good one", "Add --order 32, or a smaller one where epsilon is above 3"),
    ("Use Result.save to write one", "Name one, or a model file from `sottovoce fit`"),
    ("Use summary", "In Python use model.summary"),
    ("repeat this with resume=", "repeat the command with --resume "),
    ("without_privacy", "--without-privacy"),
    ("standard_error must", "--standard-error must"),
    ("accuracy or auc, which", "--accuracy or --auc, which"),
    ("pass schema and inference=0.3", "add --schema FILE and --inference 0.3"),
    ("cap=Budget(...)", "--epsilon and --delta"),
    ("tolerance.gradient must", "--tolerance must"),
    ("tolerance.curvature must", "--curvature must"),
)
_NAMES = (
    "loss|invalid|method|relation|persons|person|currency|order|inference|evaluate|simulate|tolerance|unit|"
    "curvature|confidence|strength|regularizer|calibration|delimiter|classes|effect"
)
_PATTERNS = (
    (r"Tolerance\(gradient=([\d.]+)\)", r"--tolerance \1"),
    (r"Budget\(\.\.\., relation='([a-z-]+)'\)", r"--relation \1"),
    (rf"\b({_NAMES})=[\"']?([\w.-]*\w)[\"']?", r"--\1 \2"),
    (rf"^({_NAMES}|epsilon|delta)(?= must|, a part| as text)", r"--\1"),
)


def in_words_of_the_command_line(message: str) -> str:
    """The message with options in place of arguments of Python."""
    for python, option in _PHRASES:
        message = message.replace(python, option)
    for pattern, option in _PATTERNS:
        message = re.sub(pattern, option, message)
    return message
