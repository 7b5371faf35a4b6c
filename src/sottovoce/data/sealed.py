"""Objects that hold private data: neither copied nor pickled."""

from __future__ import annotations

from typing import NoReturn

from sottovoce.errors import DataError


def refuse_copies(held: object) -> NoReturn:
    raise DataError(
        f"{type(held).__name__} holds private data and is never copied or pickled. "
        "Share the object itself, or build it again with Records.from_arrays where it is needed."
    )


class Sealed:
    """Holds private data, so it is neither copied nor pickled: either would carry the data past the door."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_copies(self)
