"""Errors of the library in the words of the command line."""

from __future__ import annotations

_WORDS = (
    ('invalid="zero"', "--invalid zero"),
    ('loss="logistic"', "--loss logistic"),
    ("Schema.template(names) writes one", "`sottovoce schema` writes one"),
    ("Schema.template shows one", "`sottovoce schema` shows one"),
    ("weight and weight_cap go", "--weight and --weight-cap go"),
    ("cap=Budget(...)", "--epsilon and --delta"),
)


def in_words_of_the_command_line(message: str) -> str:
    """The message with options in place of arguments of Python."""
    for python, option in _WORDS:
        message = message.replace(python, option)
    return message
