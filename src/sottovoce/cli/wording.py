"""Errors of the library in the words of the command line."""

from __future__ import annotations

from typing import Any

from sottovoce.errors import SottovoceError

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
    ("persons counts the people named by groups: pass groups too", "--persons needs --person COLUMN"),
    ("best_order finds a good one", "Add --order 32, or a smaller one where epsilon is above 3"),
    ("Use Result.save to write one", "Name one, or a model file from `sottovoce fit`"),
    ("Use summary", "In Python use model.summary"),
    ("repeat this with resume=", "repeat the command with --resume "),
    ("without_privacy", "--without-privacy"),
    ("standard_error must", "--standard-error must"),
    ("accuracy or auc, which", "--accuracy or --auc, which"),
    ("pass schema and inference=0.3", "add --schema FILE and --inference 0.3"),
    ("train with inference=0.3", "train with --inference 0.3"),
    ("cap=Budget(...)", "--epsilon and --delta"),
)
"""Ways out that are a command, or several options, here."""

_PARTS = {"tolerance.gradient": "tolerance", "tolerance.curvature": "curvature"}
"""Fields of objects that are options of their own here."""


def options_of(command: Any) -> dict[str, str]:
    """The option of each argument, of a command and of those below it."""
    found = {
        parameter.name: max(parameter.opts, key=len)
        for parameter in command.params
        if parameter.param_type_name == "option"
    }
    for inner in getattr(command, "commands", {}).values():
        found |= options_of(inner)
    return found


def in_words_of_the_command_line(error: SottovoceError, options: dict[str, str]) -> str:
    """What the error says, with options in place of arguments of Python."""
    message = " ".join(str(error).split())
    for one in error.advice:
        named = options.get(one.argument, f"--{one.argument.replace('_', '-')}")
        message = message.replace(one.python, f"{named} {one.value}")
    name = _PARTS.get(error.argument, error.argument)
    if name in options and message.startswith(error.argument):
        message = options[name] + message.removeprefix(error.argument)
    for python, option in _PHRASES:
        message = message.replace(python, option)
    return message
