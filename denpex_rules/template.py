r"""What stands between the quotes of a string: plain text, the pieces of a template, or a text with placeholders.

Escapes are `\"`, `\\`, `\n` and `\t`. In templates and texts `{{` and `}}` are literal braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from denpex_rules.errors import Span
from denpex_rules.mistake import Mistakes, did_you_mean
from denpex_rules.recovery import Leaf
from denpex_rules.rule import Capture, Template
from denpex_rules.values import CaptureType

_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_CAPTURE: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)?(?::(?P<type>[A-Za-z_][A-Za-z0-9_]*))?")


@frozen
class Hole:
    """What stands between a pair of braces."""

    text: str
    span: Span


def plain(leaf: Leaf, mistakes: Mistakes) -> str:
    """Return a string's text with its escapes resolved."""
    return "".join(c for c, _ in _characters(leaf, mistakes))


def _characters(leaf: Leaf, mistakes: Mistakes) -> list[tuple[str, int]]:
    """Return the characters of a string and the offset in the file at which each is written."""
    raw, base = leaf.text[1:-1], leaf.span.start + 1
    found: list[tuple[str, int]] = []
    i = 0
    while i < len(raw):
        if raw[i] != "\\":
            found.append((raw[i], base + i))
            i += 1
            continue
        escape = raw[i + 1]
        if escape not in _ESCAPES:
            hint = f"double it for a literal brace: {escape * 2}" if escape in "{}" else r"write \\ for a backslash"
            span = mistakes.source.span(base + i, base + i + 2)
            mistakes.add("E0106", f"unknown escape `\\{escape}`", span, r"\" \\ \n or \t", hint)
        found.append((_ESCAPES.get(escape, escape), base + i))
        i += 2
    return found


def pieces(leaf: Leaf, mistakes: Mistakes) -> tuple[str | Hole, ...]:
    """Return a string's literal texts and holes in order; unbalanced braces are reported and taken literally."""
    characters = _characters(leaf, mistakes)
    found: list[str | Hole] = []
    literal: list[str] = []
    i = 0
    while i < len(characters):
        char, at = characters[i]
        following = characters[i + 1][0] if i + 1 < len(characters) else ""
        if char not in "{}" or char == following:
            literal.append(char)
            i += 1 if char not in "{}" else 2
            continue
        closing = next((k for k in range(i + 1, len(characters)) if characters[k][0] in "{}"), None)
        if char == "}" or closing is None or characters[closing][0] == "{":
            message = f"this `{char}` has no counterpart"
            mistakes.add("E0106", message, mistakes.source.span(at, at + 1), "", f"double it for a literal brace: {char * 2}")
            literal.append(char)
            i += 1
            continue
        if literal:
            found.append("".join(literal))
            literal = []
        inner = "".join(c for c, _ in characters[i + 1 : closing])
        found.append(Hole(inner, mistakes.source.span(at, characters[closing][1] + 1)))
        i = closing + 1
    return (*found, "".join(literal)) if literal else tuple(found)


def template(leaf: Leaf, types: Mapping[str, CaptureType], mistakes: Mistakes) -> Template:
    """Return a string as a template; a hole that is no sound capture is reported and left out."""
    found: list[str | Capture] = []
    before = len(mistakes.found)
    for piece in pieces(leaf, mistakes):
        capture = piece if isinstance(piece, str) else _capture(piece, types, mistakes)
        if capture is None:
            continue
        if found and isinstance(capture, Capture) and isinstance(found[-1], Capture):
            message = "two captures stand side by side: nothing tells where the first ends"
            mistakes.add("E0506", message, capture.span, "a text between them")
        found.append(capture)
    if not found and len(mistakes.found) == before:
        mistakes.add("E0505", "this template is empty", leaf.span, "a part of the line that the event is about")
    return Template(tuple(found), leaf.span)


def _capture(hole: Hole, types: Mapping[str, CaptureType], mistakes: Mistakes) -> Capture | None:
    match = _CAPTURE.fullmatch(hole.text)
    if match is None or not hole.text:
        message = f"`{{{hole.text}}}` is not a capture"
        mistakes.add("E0106", message, hole.span, "{name:type}", "double the braces of a literal: {{ and }}")
        return None
    name, kind = match["name"] or "", match["type"] or "text"
    if kind not in types:
        unknown_type(kind, hole.span, types, mistakes)
        return None
    return Capture(name, kind, hole.span)


def unknown_type(kind: str, span: Span, types: Mapping[str, CaptureType], mistakes: Mistakes) -> None:
    """Report a capture type that does not exist."""
    hint = did_you_mean(kind, types)
    mistakes.add("E0301", f"there is no capture type `{kind}`", span, f"one of {', '.join(sorted(types))}", hint)
