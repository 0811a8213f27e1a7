"""The literals that a match needs: byte strings of which every record that matches an event contains at least one.

They are what makes scanning fast: a record without any of an event's literals never reaches its regex. Soundness comes
first: where a literal can't be derived for certain there is none, and the event must be declared `expensive`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from denpex_rules.errors import Diagnostic
from denpex_rules.rule import Alternative, Event, Regex, Template

MIN_LENGTH: Final = 3  # a shorter literal stands in too many records to be worth looking for

# The standard library's own regex parser: it has no public name, and writing a second one would only add mistakes.
_parser: Final[Any] = import_module("re._parser")

Literals = frozenset[bytes]


def event_literals(event: Event) -> Literals | None:
    """Return the literals of which every matching record contains one; None when an alternative has none."""
    return _union(alternative_literals(a) for a in event.alternatives)


def alternative_literals(alternative: Alternative) -> Literals | None:
    """Return the best set of literals of one alternative: all its parts are needed, so the best part's will do.

    Args:
        alternative: sequences that must all occur.

    Returns:
        The set whose weakest member is longest and rarest; None when no part has a literal of three bytes.
    """
    return _best(fixed_texts(alternative))


def fixed_texts(alternative: Alternative) -> tuple[Literals, ...]:
    """Return the fixed texts of one alternative: every match contains one member of each set."""
    parts = (p for sequence in alternative.sequences for p in sequence.parts)
    return tuple(c for p in parts for c in (_template_runs(p) if isinstance(p, Template) else _regex_runs(p)) if c and all(c))


def check_literals(event: Event) -> Diagnostic | None:
    """Return the diagnostic for an event that no literal announces and that is not declared `expensive`."""
    if event.expensive or event_literals(event) is not None:
        return None
    return Diagnostic(
        "E0502",
        f"no part of event `{event.name}` has a text of {MIN_LENGTH} characters that every match contains",
        event.span,
        expected=f"a fixed text of at least {MIN_LENGTH} characters in every alternative",
        hint=f"add a text that always stands there, or write `event {event.name} ... expensive` to try it on every record",
    )


def _best(candidates: Iterable[Literals]) -> Literals | None:
    fit = [c for c in candidates if c and min(map(len, c)) >= MIN_LENGTH]
    return max(fit, key=lambda c: (min(map(_weight, c)), -len(c), sorted(c)), default=None)


def _union(sets: Iterable[Literals | None]) -> Literals | None:
    found: set[bytes] = set()
    for literals in sets:
        if literals is None:
            return None
        found |= literals
    return frozenset(found) or None


def _weight(literal: bytes) -> float:
    """Guess how rare a literal is: capitals, digits and marks are rarer in logs than small letters, blanks are everywhere."""
    total = 0.0
    for char in literal.decode("latin-1"):
        total += 0.2 if char.isspace() else 1.0 if char.islower() else 1.4
    return total


def _split(run: bytes) -> Iterator[Literals]:
    # The scanner looks for literals line by line, so one must not reach over the end of a line.
    return (frozenset({piece}) for piece in run.split(b"\n"))


def _template_runs(template: Template) -> list[Literals]:
    return [c for piece in template.pieces if isinstance(piece, str) for c in _split(piece.encode())]


def _regex_runs(regex: Regex) -> list[Literals]:
    """Return the literal sets that a regex needs, derived from the standard library's reading of it.

    Where that reading could differ from RE2's (a class such as `[[:alpha:]]`, a flag in the middle, a warning) there are none.
    """
    if "[:" in regex.text or not regex.text.isascii():
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = _parser.parse(regex.text)
    except (re.error, Warning, OverflowError, RecursionError):
        return []
    return [] if tree.state.flags & re.IGNORECASE else _Runs().read(tree)


class _Runs:
    """Walks one parsed regex from left to right and collects the texts that any match contains."""

    def __init__(self) -> None:
        self._found: list[Literals] = []
        self._run = bytearray()

    def read(self, tree: Any) -> list[Literals]:
        """Return the literal sets of a whole tree."""
        self._walk(tree)
        self._cut()
        return self._found

    def _cut(self) -> None:
        self._found += _split(bytes(self._run))
        self._run.clear()

    def _walk(self, tree: Any) -> None:
        for token, argument in tree:
            match str(token):
                case "LITERAL" if argument < 256:
                    self._run.append(argument)
                case "AT":  # an anchor has no width: the text goes on behind it
                    pass
                case "SUBPATTERN" if not argument[1] & re.IGNORECASE:
                    self._walk(argument[3])
                case "MAX_REPEAT" | "MIN_REPEAT" if argument[0] >= 1:
                    self._walk(argument[2])  # once for certain; how often after that is open
                    if argument[1] != 1:
                        self._cut()
                case "BRANCH":
                    self._cut()
                    either = _union(_best(_Runs().read(branch)) for branch in argument[1])
                    self._found += [either] if either else []
                case _:
                    self._cut()
