"""Lines of text for a person: wrapped, styled, and safe to show.

Log text is untrusted. Whatever could steer a terminal or fake a line of its own (control characters, escapes, line
separators, bidi overrides, invisible characters) is shown as its escape; styles are spans beside the text, never markup in it.
"""

from __future__ import annotations

import textwrap
from typing import Final

from rich.text import Text

WIDTH: Final = 100
LABEL_WIDTH: Final = 14


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
    """Lines in order. Everything that is added is neutralised; lines wrap at WIDTH columns where words allow it."""

    def __init__(self) -> None:
        self.lines: list[Text] = []

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
        rows = _wrap(text, max(WIDTH - hang, WIDTH // 3)) if wrap else [text]
        for number, row in enumerate(rows):
            line = Text(" " * indent)
            line.append(lead if number == 0 else " " * len(lead), style=lead_style)
            line.append(row, style=style)
            line.rstrip()
            self.lines.append(line)

    def label(self, name: str, text: str, *, indent: int = 2, style: str = "") -> None:
        """Add one `name  text` row of a block."""
        self.add(text, lead=name.ljust(LABEL_WIDTH), indent=indent, style=style, lead_style="dim")

    def items(self, texts: tuple[str, ...], *, indent: int, numbered: bool = False) -> None:
        """Add a list, one item a paragraph."""
        for number, text in enumerate(texts, 1):
            self.add(text, lead=f"{number}. " if numbered else "- ", indent=indent)

    def blank(self) -> None:
        """Add an empty line, unless the page is empty or ends with one."""
        if self.lines and self.lines[-1].plain:
            self.lines.append(Text())

    def plain(self) -> str:
        """Return the page without styles, each line ended by a newline."""
        return "".join(f"{line.plain}\n" for line in self.lines)


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
