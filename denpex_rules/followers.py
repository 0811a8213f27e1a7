"""Whose the lines are that follow a labelled record without a label of their own.

A logger that names its process puts the name in front of a record, not of each of its lines. A process writes a record at once, so
the frames behind a line that ends by announcing a traceback are of that line's emitter, as long as nothing else stands between.
Nothing weaker counts: an exception's last line alone may be any process's.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import define

from denpex_rules.formats import ends
from denpex_rules.record import Line

_ANNOUNCES: Final = re.compile(rb"\(most recent call (?:last|first)\):\s*\Z")
_FRAME: Final = re.compile(rb"[ \t]+\S|frame #\d")


@define
class Followers:
    """The open record of one source, if any. Hand it every line that is not blank, in order, or say that there were others."""

    _label: str = ""
    _framed: bool = False  # a frame was seen: an exception may follow

    def end(self) -> None:
        """Say that lines stood here that were not handed over: nothing goes on behind them."""
        self._label = ""

    def owner(self, line: Line, label: str) -> str:
        """Return the label of the emitter that a line is from.

        Args:
            line: the line, peeled.
            label: the label that it has by itself.
        """
        if self._label and not line.label and not line.layout and not line.head:
            frame = _FRAME.match(line.text) is not None
            if frame or self._framed:
                self._framed = True
                return self._label
        self._label = line.label if line.label and ends(line.layout) and _ANNOUNCES.search(line.text) else ""
        self._framed = False
        return label
