"""Offsets in a text against the lines and columns of an editor, in the unit in which that counts columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, Literal

from attrs import field, frozen

Encoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-8", "utf-16", "utf-32")

_END: Final = re.compile(r"\r\n|\n|\r")  # what editors take for the end of a line; no other separator of Unicode


@frozen
class Positions:
    """The lines of one text.

    Args:
        text: the text.
        encoding: what one column is: a byte, a 16-bit unit, or a character.
    """

    text: str = field(repr=False)
    encoding: Encoding = "utf-16"
    _bounds: tuple[tuple[int, int], ...] = field(init=False, repr=False, eq=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, eq=False)

    @_bounds.default
    def _line_bounds(self) -> tuple[tuple[int, int], ...]:
        ends = [(m.start(), m.end()) for m in _END.finditer(self.text)]
        starts = [0, *(end for _, end in ends)]
        return tuple(zip(starts, [*(start for start, _ in ends), len(self.text)], strict=True))

    @_starts.default
    def _line_starts(self) -> tuple[int, ...]:
        return tuple(start for start, _ in self._bounds)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self._bounds)

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place, both counted from 0; what lies behind a line or the text is moved to its end.

        A column within a character is moved to the character's start.
        """
        if line >= len(self._bounds):
            return len(self.text)
        start, end = self._bounds[max(line, 0)]
        if column <= 0:
            return start
        piece = self.text[start:end]
        if piece.isascii() or self.encoding == "utf-32":
            return min(start + column, end)
        units = 0
        for i, character in enumerate(piece):
            units += self._width(character)
            if units > column:
                return start + i
        return end

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 0; one between the signs of a line's end is that end."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        start, end = self._bounds[line]
        piece = self.text[start : min(offset, end)]
        if piece.isascii() or self.encoding == "utf-32":
            return line, len(piece)
        return line, sum(map(self._width, piece))

    def _width(self, character: str) -> int:
        code = ord(character)
        if self.encoding == "utf-16":
            return 1 if code < 0x10000 else 2
        return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
