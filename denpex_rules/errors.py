"""Spans, coded diagnostics and the exception tree.

Rule mistakes are `Diagnostic`s: all mistakes of a file are collected, none hides another. Mistakes of a caller raise one
`DenpexError` subclass. Damaged logs never raise: they become coverage notes in the report.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final, Literal

from attrs import field, frozen

Severity = Literal["error", "warning"]


class DenpexError(Exception):
    """Root of every exception that this library raises on purpose."""


class UsageError(DenpexError, ValueError):
    """The caller asked for something that can't be done (a missing path, an unknown option)."""


class ProgramError(DenpexError, ValueError):
    """A saved Program can't be used: wrong format, version or checksum."""


class PluginError(DenpexError, ImportError):
    """An entry point failed to load or does not have the promised shape."""


class RuleError(DenpexError, ValueError):
    """Rules can't be used because of the diagnostics that it carries."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n\n".join(d.render() for d in self.diagnostics))


@frozen
class Span:
    """A half-open character range [start, end) of one rule file; `line` and `column` are of `start`, from 1."""

    path: str
    line: int
    column: int
    start: int
    end: int


NOWHERE = Span("<none>", 0, 0, 0, 0)


@frozen
class Edit:
    """Replace the characters of `span` by `text`; an empty span inserts, an empty text deletes."""

    span: Span
    text: str


@frozen
class Patch:
    """A way out of a diagnostic that a tool can take.

    Args:
        title: what it does, as an editor shows it ("replace `whre` by `where`").
        edits: changes of the diagnostic's own file, in the order of their spans, which do not overlap.
        safe: whether it keeps what the rule means, or what its author surely meant: `--fix` takes only safe ones, an editor
            may offer all.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = False


@frozen
class Diagnostic:
    """One mistake in a rule.

    Args:
        code: stable code, a key of `CODES`.
        message: what is wrong, in words an author uses; never a parser token name.
        span: where.
        source: the whole source line that `span` starts on, without its newline.
        expected: what would have been right, in words ("" when there is nothing to add).
        hint: a concrete way out ("did you mean 5s?"), "" when there is none.
        severity: an error keeps the rule from being used; a warning is advice.
        patch: the way out as changes of the text, None when a person has to decide.
    """

    code: str
    message: str
    span: Span
    source: str = ""
    expected: str = ""
    hint: str = ""
    severity: Severity = field(default="error")
    patch: Patch | None = None

    def render(self) -> str:
        """Return the diagnostic as text: head line, source line with the span underlined, expectation and hint."""
        head = f"{self.severity}[{self.code}]: {self.message}"
        lines = [head, f"  --> {self.span.path}:{self.span.line}:{self.span.column}"]
        if self.source:
            lines += self._excerpt()
        if self.expected:
            lines.append(f"  = expected: {self.expected}")
        if self.hint:
            lines.append(f"  = hint: {self.hint}")
        return "\n".join(lines)

    def _excerpt(self) -> list[str]:
        gutter = " " * len(str(self.span.line))
        before = self.source[: self.span.column - 1]
        pad = "".join("\t" if c == "\t" else " " for c in before)
        width = max(1, min(self.span.end - self.span.start, len(self.source) - len(before)))
        return [
            f" {gutter} |",
            f" {self.span.line} | {self.source}",
            f" {gutter} | {pad}{'^' * width}",
        ]


@frozen
class Source:
    """The text of one rule file: turns character offsets into spans, and spans into diagnostics that quote their line."""

    path: str
    text: str = field(repr=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, eq=False)

    @_starts.default
    def _line_starts(self) -> tuple[int, ...]:
        return (0, *(i + 1 for i, c in enumerate(self.text) if c == "\n"))

    def span(self, start: int, end: int) -> Span:
        """Return the half-open character range [start, end) as a span of this file."""
        row = bisect_right(self._starts, start) - 1
        return Span(self.path, row + 1, start - self._starts[row] + 1, start, end)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its newline; "" when there is no such line."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def diagnostic(
        self, code: str, message: str, span: Span, expected: str = "", hint: str = "", *, patch: Patch | None = None
    ) -> Diagnostic:
        """Return an error about `span` that quotes the line on which it starts; without a patch, what the hint proposes is one."""
        return Diagnostic(code, message, span, self.line(span.line), expected, hint, patch=patch or self._proposed(span, hint))

    def _proposed(self, span: Span, hint: str) -> Patch | None:
        old = self.text[span.start : span.end]
        if old in {";", ",", ":"} and _NEEDLESS.match(hint):
            return Patch(f"remove `{old}`", (Edit(span, ""),), safe=True)
        meant = "and" if hint == JOINED and old in {"&", "&&"} else next(iter(_MEANT.findall(hint)), "")
        if not meant or len(old) > LONGEST_WORD:
            return None
        part = old if old in {"&", "&&"} or _alike(old, meant) else re.split("[.:]", old.strip("{}"))[-1]
        if not _alike(part, meant) and meant != "and":
            return None
        amount, right = _AMOUNT.fullmatch(part), _AMOUNT.fullmatch(meant)
        if right and not re.search(r"\d", part):
            return None  # the number stands in front of what is marked
        at = span.start + old.rindex(part)
        safe = meant in {"and", "=", "=="} or bool(amount and right and amount[1] == right[1])
        return Patch(f"replace `{part}` by `{meant}`", (Edit(self.span(at, at + len(part)), meant),), safe)


LONGEST_WORD: Final = 80  # characters that are compared with what they may have been meant to be
JOINED: Final = "conditions are joined by `and`"
_NEEDLESS: Final = re.compile(r"remove the `|no colon is needed")
_AMOUNT: Final = re.compile(r"(\d+)[A-Za-z]+")
_MEANT: Final = re.compile(r"^did you mean ([^\s`?]+)\?$")


def _alike(old: str, meant: str) -> bool:
    bare, right = (text.strip('"').lower() for text in (old, meant))
    return not re.search(r"\s", old) and SequenceMatcher(None, bare, right).ratio() > 0.6


# Every code, with the sentence that the reference documentation shows for it. Codes are never reused.
CODES: dict[str, str] = {
    # 01xx: the text is not a rule file
    "E0101": "the text does not follow the grammar",
    "E0102": "a string, regex or block is never closed",
    "E0103": "the file does not start with `language 1`",
    "E0104": "a language version that this release does not know",
    "E0105": "the file is not valid UTF-8 text",
    "E0106": "an unknown escape in a string or an unbalanced brace in a template",
    # 02xx: names
    "E0201": "a name is used that nothing defines",
    "E0202": "a name is defined twice",
    "E0203": "`use` names a building block that does not exist",
    "E0204": "a field is used that the event does not capture",
    "E0205": "an unknown function",
    "E0206": "a name is used before the step that binds it",
    "E0207": "a reserved word is used as a name",
    # 03xx: types and units
    "E0301": "an unknown capture type",
    "E0302": "values of two types that can't be compared",
    "E0303": "a number without a unit where a duration is needed",
    "E0304": "a function is called with the wrong number or types of arguments",
    "E0305": "a value that its type does not admit",
    "E0306": "a range whose minimum is above its maximum",
    "E0307": "one capture name with two types in one event",
    "E0308": "a capture named after an actor's field, of another type than that field",
    # 04xx: structure and bounds
    "E0401": "a rule without a required step",
    "E0402": "a rule without a finite span",
    "E0403": "a rule without a scope key, or with an unknown one",
    "E0404": "a step that nothing joins to the others",
    "E0405": "a statement that may stand once stands twice",
    "E0406": "a required statement is missing",
    "E0407": "a gap that can't fit into the rule's span",
    "E0408": "an impossible count",
    "E0409": "silence without an actor or without a duration",
    "E0410": "an alternative that can never be reached",
    # 05xx: patterns
    "E0501": "a regex that is not linear-time RE2 syntax",
    "E0502": "an event without a literal of three characters and not declared `expensive`",
    "E0503": "a `like` example that the event does not match",
    "E0504": "an `unlike` example that the event matches",
    "E0505": "an empty template",
    "E0506": "two captures with nothing between them",
    # 06xx: metadata
    "E0601": "an unknown class",
    "E0602": "a value outside the closed list of this statement",
    "E0603": "a placeholder in a text that nothing fills",
    "E0604": "a rule that causes its own class",
    "E0605": "the rule's name is not its path",
    "E0606": "a building block that holds a rule, or anything but events",
    "E0607": "a taxonomy that is malformed or names an unknown class",
    # L: advice
    "L0101": "a stable rule without a `like` example for each event",
    "L0102": "an event pattern that is only a common word",
    "L0103": "an event that names neither severity nor kind and holds little fixed text",
    "L0104": "`causes` and the taxonomy's `upstream` disagree",
    "L0105": "one record starts two rules and nothing relates them",
    "L0106": "the rule says nothing about what to do",
    "L0107": "the rule orders events closer than the clock of their source can tell",
    "L0108": "an event or `let` that nothing uses",
    "L0109": "`see` names a rule that does not exist",
    "L0110": "a building block of `use` that the file does not use",
    "L0111": "`expensive` on an event that its fixed text finds",
    "L0112": "an example that stands twice",
    "L0113": "an alternative that a shorter one covers",
    "L0114": "a time, address or id that is written into a pattern",
    "L0115": "an example with what looks like an address, account or secret of somebody",
    "L0116": "a regex that says no more than a text",
    "L0117": "a symptom that accuses with certainty",
    "L0118": "a check that changes the machine",
    "L0119": "a command that takes text from a log which a shell would run",
    "L0120": "a trigger that keeps the last sighting",
    "L0121": "a count of one",
    "L0122": "a condition that asks nothing, or the same twice",
    "L0123": "`see` names the rule itself, or one rule twice",
    "L0124": "a stable rule without a reference or without the version that it is stable since",
    "L0125": "an accusation without a command that checks it",
    "L0126": "a title that is no headline: too long, or ended by a full stop",
    "L0127": "a reference that is no https address",
    "L0128": "required steps without an order",
    "L0129": "a text that names a value which may be missing",
    "L0130": "a rule of the class that drafts have",
    "L0201": "a comment allows what does not occur",
    "L0202": "a comment allows something without a reason, or what can't be allowed",
}
