"""Lines of text for a person: wrapped, styled, and safe to show.

Log text is untrusted. Whatever could steer a terminal or fake a line of its own (control characters, escapes, line
separators, bidi overrides, invisible characters) is shown as its escape; styles are spans beside the text, never markup in it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

WIDTH: Final = 100
LABEL_WIDTH: Final = 14

Line = tuple[tuple[str, str], ...]  # texts side by side, each with its rich style


def neutral(text: str) -> str:
    r"""Return `text` with every character that is not plainly visible replaced by its escape (`\x1b`, `\u202e`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


class Page:
    """Lines in order. Everything that is added is neutralised; lines wrap at `width` columns where words allow it."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width
        self.lines: list[Line] = []

    def add(self, text: str, *, lead: str = "", indent: int = 0, style: str = "", lead_style: str = "", wrap: bool = True) -> None:
        """Add one paragraph.

        Args:
            text: the paragraph; its lines after the first hang below its own first column.
            lead: what stands before it on its first line (a label, a bullet).
            indent: columns before the lead.
            style: rich style of the text.
            lead_style: rich style of the lead.
            wrap: false for what is copied by hand, such as commands.
        """
        lead, text = neutral(lead), neutral(text)
        hang = indent + len(lead)
        rows = _wrap(text, max(self.width - hang, self.width // 3)) if wrap else [text]
        for number, row in enumerate(rows):
            front = lead if number == 0 else " " * len(lead)
            self.lines.append(_stripped(((" " * indent, ""), (front, lead_style), (row, style))))

    def label(self, name: str, text: str, *, indent: int = 2, style: str = "") -> None:
        """Add one `name  text` row of a block."""
        self.add(text, lead=name.ljust(LABEL_WIDTH), indent=indent, style=style, lead_style="dim")

    def items(self, texts: tuple[str, ...], *, indent: int, numbered: bool = False) -> None:
        """Add a list, one item a paragraph."""
        for number, text in enumerate(texts, 1):
            self.add(text, lead=f"{number}. " if numbered else "- ", indent=indent)

    def blank(self) -> None:
        """Add an empty line, unless the page is empty or ends with one."""
        if self.lines and self.lines[-1]:
            self.lines.append(())

    def plain(self) -> str:
        """Return the page without styles, each line ended by a newline."""
        return "".join("".join(text for text, _ in line) + "\n" for line in self.lines)


def _stripped(line: Iterable[tuple[str, str]]) -> Line:
    """Return a line without the blanks at its end."""
    kept = [(text, style) for text, style in line if text]
    while kept and not kept[-1][0].rstrip():
        kept.pop()
    return (*kept[:-1], (kept[-1][0].rstrip(), kept[-1][1])) if kept else ()


def _wrap(text: str, width: int) -> list[str]:
    rows = textwrap.wrap(
        text,
        width,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        expand_tabs=False,
    )
    return rows or [""]
