"""Comments that allow what advice is against: `# allow L0104: why`, at the end of the line or above it.

A reason is part of it, an error can't be allowed, and a comment that no longer allows anything is advised against itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from denpex_rules.errors import CODES, Diagnostic, Edit, Patch, Source, Span
from denpex_rules.parser import words
from denpex_rules.usage import advice

UNUSED: Final = "L0201"
MALFORMED: Final = "L0202"
TOGETHER: Final = frozenset({"L0105", "L0108"})  # advice that depends on which files are looked at: its absence proves nothing

_COMMENT: Final = re.compile(r"#\s*allow\s+(?P<codes>[A-Za-z]\d+(?:\s*,\s*[A-Za-z]\d+)*)\s*(?::(?P<reason>.*))?(?P<rest>.*)")


@frozen
class Suppression:
    """One comment: the codes that it allows on `line`, from 1, each with its span, and the span of the whole comment."""

    codes: tuple[tuple[str, Span], ...]
    reason: str
    line: int
    span: Span


def suppressions(source: Source) -> tuple[Suppression, ...]:
    """Return the comments of a file that allow something, malformed ones too; other comments that start with "allow" are prose."""
    found = []
    following = _following(source)
    for token in words().tokens.finditer(source.text):
        if token.lastgroup != "comment" or (match := _COMMENT.match(token[0].rstrip())) is None:
            continue
        span = source.span(token.start(), token.start() + len(token[0].rstrip()))
        base = token.start() + match.start("codes")
        codes: dict[str, Span] = {}
        for code in re.finditer(r"\w+", match["codes"]):
            codes.setdefault(code[0].upper(), source.span(base + code.start(), base + code.end()))
        reason = "" if match["rest"].strip() else (match["reason"] or "").strip()
        alone = not source.line(span.line)[: span.column - 1].strip()
        found.append(Suppression(tuple(codes.items()), reason, following[span.line] if alone else span.line, span))
    return tuple(found)


def _following(source: Source) -> list[int]:
    """Return for each line, from 1, the next one that holds more than a comment; itself where there is none."""
    lines = source.text.split("\n")
    following = list(range(len(lines) + 1))
    last = 0
    for number in range(len(lines), 0, -1):
        following[number] = last or number
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            last = number
    return following


def suppress(found: Iterable[Diagnostic], sources: Mapping[str, Source]) -> Iterator[Diagnostic]:
    """Yield the advice that no comment allows, and advice about comments that allow nothing.

    Args:
        found: advice.
        sources: the texts of the rule files by path; where a text is not known, nothing is allowed.
    """
    comments = [comment for source in sources.values() for comment in suppressions(source)]
    allowing: dict[tuple[str, int, str], bool] = {}  # by path, line and code: whether there was something to allow
    for comment in comments:
        if comment.reason:
            allowing |= {(comment.span.path, comment.line, code): False for code, _ in comment.codes if _is_advice(code)}
    for diagnostic in found:
        key = (diagnostic.span.path, diagnostic.span.line, diagnostic.code)
        if key in allowing:
            allowing[key] = True
        else:
            yield diagnostic
    for comment in comments:
        yield from _malformed(comment)
        for code, span in comment.codes if comment.reason else ():
            if allowing.get((comment.span.path, comment.line, code)) is False and code not in TOGETHER:
                yield _unused(comment, code, span)


def _is_advice(code: str) -> bool:
    return code.startswith("L") and code in CODES and code not in {UNUSED, MALFORMED}


def _malformed(comment: Suppression) -> Iterator[Diagnostic]:
    for code, span in comment.codes:
        if code not in CODES:
            yield advice(MALFORMED, f"there is no code `{code}`", span, "look it up in what `rulecheck check` prints")
        elif not _is_advice(code):
            yield advice(MALFORMED, f"`{code}` can't be allowed: only advice about rules can", span, "mend the rule")
    if not comment.reason:
        written = ", ".join(code for code, _ in comment.codes)
        hint = f"write `# allow {written}: ` and the reason"
        yield advice(MALFORMED, "a comment that allows something says why", comment.span, hint)


def _unused(comment: Suppression, code: str, span: Span) -> Diagnostic:
    """Return advice about a code that a comment allows in vain; with its last code the comment goes."""
    rest = ", ".join(c for c, _ in comment.codes if c != code)
    where = evolve(comment.span, end=comment.codes[-1][1].end, start=comment.codes[0][1].start)
    edit = Edit(where, rest) if rest else Edit(comment.span, "")
    patch = Patch("remove the comment" if not rest else f"remove `{code}`", (edit,), safe=True)
    return advice(UNUSED, f"nothing on line {comment.line} has to be allowed `{code}`", span, "leave it out", patch)
