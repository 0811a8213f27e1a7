r"""Markdown that shows untrusted text: nothing in it becomes markup, HTML or a character that steers what is shown.

Controls and invisible characters become escapes first (as in `page`), then whatever Markdown or HTML would take for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from denpex_rules.page import neutral

# What means something to Markdown anywhere, and what does so only where a paragraph begins.
_MARKS: Final = re.compile(r"[\\`*_{}\[\]#|~^&<>]|!(?=\[)|^[-+=:]|^\d(?=\d*[.)])")
_WEB: Final = ("https://", "http://")
_LONGEST: Final = 400  # characters of one log line that a page shows


def words(text: str) -> str:
    """Return text for a paragraph, heading, item or cell: it reads as it is written."""
    return part(text).strip()


def part(text: str) -> str:
    """Return a part of a sentence, with the blanks at its ends."""
    return _MARKS.sub(lambda found: f"&#{ord(found[0])};", neutral(text))


def prose(text: str) -> str:
    """Return an author's text: what stands between backquotes is code, all else is plain."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return words(text)
    return "".join(code(one) if number % 2 else part(one) for number, one in enumerate(parts)).strip()


def code(text: str) -> str:
    """Return text as inline code, an element of its own: backquotes and bars in it need no care."""
    return f"<code>{words(text)}</code>"


def block(lines: Iterable[str], language: str = "text") -> str:
    """Return lines as a code block whose fence is longer than any in them; a long line is cut."""
    shown = [_cut(neutral(line)) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("[`~]+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already; "" where it has no row."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *body]) if body else ""


def bullets(items: Iterable[str]) -> str:
    """Return a list of items that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def link(text: str, target: str) -> str:
    """Return a link whose text is Markdown already; where the target is no web address or path, its text alone."""
    plain = re.fullmatch(r"[\w./#%?&=~+,;:@-]+", target)
    return f"[{text}]({target})" if plain and (":" not in target or target.startswith(_WEB)) else text
