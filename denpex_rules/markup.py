r"""Markdown that shows untrusted text: nothing in it becomes markup, HTML or a character that steers what is shown.

Controls and invisible characters become escapes first (as in `page`), then whatever Markdown or HTML would take for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from denpex_rules.page import neutral

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS: Final = re.compile(r"[\\`*_{}\[\]()#+.!|~^:\-\"'$=@]")
_LONGEST: Final = 400  # characters of one log line that a page shows


def words(text: str) -> str:
    """Return text for a paragraph, heading or cell: it reads as it is written."""
    plain = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], neutral(text))
    return _MARKS.sub(lambda found: f"&#{ord(found[0])};", plain)


def prose(text: str) -> str:
    """Return an author's text: what stands between backquotes is code, all else is plain."""
    parts = neutral(text).split("`")
    if len(parts) % 2 == 0:
        return words(text)
    return "".join(code(part) if number % 2 else _light(part) for number, part in enumerate(parts) if part)


def _light(text: str) -> str:
    """Escape what could start markup inside a sentence, and leave its punctuation readable in the source."""
    plain = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    return re.sub(r"[\\*_{}\[\]#|~^]|!(?=\[)|:(?=//)", lambda found: f"&#{ord(found[0])};", plain)


def code(text: str) -> str:
    """Return text as inline code, as an element of its own: backquotes and bars in it need no care."""
    return f"<code>{words(text)}</code>"


def block(lines: Iterable[str], language: str = "text") -> str:
    """Return lines as a code block whose fence is longer than any in them; a long line is cut."""
    shown = [_cut(neutral(line)) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
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
    """Return a link with a text that is Markdown already; anything but a web address or a relative path becomes its text alone."""
    plain = re.fullmatch(r"(?:https?://)?[\w./#%?&=~+,;:@-]+", target)
    return f"[{text}](<{target}>)" if plain and (":" not in target or target.startswith(("https://", "http://"))) else text
