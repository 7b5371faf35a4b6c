"""Lines of a CSV file, each a record by itself: no quote reaches into the next one.

RFC 4180 lets a quoted field go on past the end of its line. Then one quote that is never closed would swallow
the records after it. Here a record is a line: it ends at a line feed (a carriage return before it belongs to
the ending), whatever quotes it holds. A line is broken, and its record invalid, if a quoted field is not
closed in it, if it has another number of fields than the header, if it holds a carriage return elsewhere, or
if it is longer than LONGEST bytes. Within a line quotes mean what they mean in RFC 4180: a field that begins
with one ends at the next that is not doubled. An empty line is no record, save in a file of one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

LONGEST = 2**20
"""Bytes of the longest line that is read."""

_FEED, _RETURN, _QUOTE = b'\n\r"'
_MARK = b"\xef\xbb\xbf"
"""A mark of byte order: Arrow drops it where a block begins with one, but blocks begin anywhere."""

Places = NDArray[np.intp]


class Block(NamedTuple):
    """Lines that a CSV parser reads one by one, how many records they are, and whether one was broken."""

    text: bytes
    records: int
    broken: bool


@final
class LineReader:
    """Cuts a stream of bytes into blocks of whole lines; those that are broken hold no value in any field."""

    def __init__(self, fields: int, delimiter: str) -> None:
        self._count = fields
        self._delimiter = delimiter.encode()
        inside = re.escape(self._delimiter)
        self._field = re.compile(b'"((?:[^"]|"")*+)"([^%b]*)|([^"%b][^%b]*|)' % (inside, inside, inside))
        self._blank = self._delimiter.join([b"\xff"] * fields) + b"\n"

    def blocks(self, stream: Any, size: int) -> Iterator[Block]:
        """All lines but the first, which is the header."""
        held, too_long, header = b"", False, True
        while chunk := bytes(stream.read(size)):
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                too_long = too_long or len(held) + len(chunk) > LONGEST
                held = b"" if too_long else held + chunk
                continue
            whole, held = held + chunk[:cut], chunk[cut:]
            if too_long or header:
                whole = (b"" if header else self._blank) + whole[whole.index(b"\n") + 1 :]
            if whole:
                found = self.checked(whole)
                yield found._replace(broken=found.broken or (too_long and not header))
            too_long = header = False
        if too_long and not header:
            yield Block(self._blank, 1, True)
        elif held and not header:
            yield self.checked(held + b"\n")

    def checked(self, text: bytes) -> Block:
        """Whole lines, the broken ones replaced; fields of unusual quoting are quoted as usual."""
        held = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(held == _FEED)
        starts = np.concatenate([[0], ends[:-1] + 1])
        counts, unusual = self._counted(held, text, starts, ends)
        returns = (held[np.maximum(ends - 1, 0)] == _RETURN) & (ends > starts)
        empty = (ends - starts - returns == 0) & (self._count > 1)
        broken = (counts != self._count) & ~empty
        broken |= ends - starts > LONGEST
        if b"\r" in text:
            lone = np.flatnonzero(held == _RETURN)
            lone = lone[held[lone + 1] != _FEED]
            broken[np.searchsorted(ends, lone)] = True
        unusual[0] |= text.startswith(_MARK)
        records = len(ends) - int(empty.sum())
        changed = np.flatnonzero(broken | unusual)
        if not changed.size:
            return Block(text, records, False)
        return self._rewritten(text, records, broken, starts, ends, changed)

    def _counted(
        self, held: NDArray[np.uint8], text: bytes, starts: Places, ends: Places
    ) -> tuple[Places, NDArray[np.bool_]]:
        """How many fields each line has, and where quotes are not those of RFC 4180: there the count is one
        of a line that is not broken, and each line is looked at by itself."""
        cuts = np.flatnonzero(held == ord(self._delimiter))
        if b'"' not in text:
            return np.diff(np.searchsorted(cuts, ends), prepend=0) + 1, np.zeros(len(ends), dtype=bool)
        lines = np.searchsorted(ends, cuts)
        quotes = np.flatnonzero(held == _QUOTE)
        before = np.searchsorted(quotes, starts)
        outside = (np.searchsorted(quotes, cuts) - before[lines]) % 2 == 0
        counts = np.bincount(lines[outside], minlength=len(ends)) + 1
        owners = np.searchsorted(ends, quotes)
        opening = (np.arange(len(quotes)) - before[owners]) % 2 == 0
        previous, following = held[np.maximum(quotes - 1, 0)], held[quotes + 1]
        first = quotes == starts[owners]
        ordinary = np.where(
            opening,
            first | np.isin(previous, [ord(self._delimiter), _QUOTE]),
            np.isin(following, [ord(self._delimiter), _QUOTE, _FEED, _RETURN]),
        )
        odd = np.bincount(owners, minlength=len(ends)) % 2 == 1
        odd[owners[~ordinary]] = True
        counts[odd] = self._count
        return counts, odd

    def _rewritten(
        self,
        text: bytes,
        records: int,
        broken: NDArray[np.bool_],
        starts: Places,
        ends: Places,
        changed: Places,
    ) -> Block:
        parts, place, bad = list[bytes](), 0, False
        for number in changed.tolist():
            start, end = int(starts[number]), int(ends[number])
            line = None if broken[number] else self._quoted(text[start:end].removesuffix(b"\r"))
            bad |= line is None
            parts += [text[place:start], self._blank if line is None else line]
            place = end + 1
        return Block(b"".join([*parts, text[place:]]), records, bad)

    def _quoted(self, line: bytes) -> bytes | None:
        """The line with every field quoted; None if it is broken."""
        place, fields = 0, list[bytes]()
        while (match := self._field.match(line, place)) is not None:
            quoted, rest, plain = match.groups()
            value = plain if quoted is None else quoted.replace(b'""', b'"') + rest
            fields.append(b'"' + value.replace(b'"', b'""') + b'"')
            place = match.end() + 1
            if place > len(line):
                return self._delimiter.join(fields) + b"\n" if len(fields) == self._count else None
        return None
