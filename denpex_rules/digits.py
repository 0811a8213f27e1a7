"""Whether other digits could change what an event matches.

An event that is blind to digits matches a line, or not, as it does any other line that differs only in its digits.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any, Final

from denpex_rules.rule import Alternative, Event, Regex, Template

_parser: Final[Any] = import_module("re._parser")  # as in literals

# Capture types that take a text whatever digits it has. Not among them: those with bounds (minutes, ascending ranks). A float has
# one, but no digits below `1e100` reach it.
_BLIND: Final = frozenset(
    {
        "text",
        "word",
        "path",
        "int",
        "float",
        "seq",
        "rank",
        "group_rank",
        "local_rank",
        "pid",
        "host",
        "address",
        "pci",
        "busid",
        "device",
        "bytes",
        "ns",
        "us",
        "ms",
        "s",
        "min",
        "job",
    }
)
_DIGITS: Final = frozenset(range(ord("0"), ord("9") + 1))
_WORD_SETS: Final = (
    "CATEGORY_DIGIT",
    "CATEGORY_WORD",
    "CATEGORY_SPACE",
    "CATEGORY_NOT_DIGIT",
    "CATEGORY_NOT_WORD",
    "CATEGORY_NOT_SPACE",
)


def blind(event: Event) -> bool:
    """Whether an event is known to be blind to digits; False where that is not clear."""
    return not seeing(event)


def seeing(event: Event) -> int:
    """Return the alternatives of an event that are not known to be blind to digits, a bit each."""
    declared = dict(event.captures)
    return sum(1 << number for number, alternative in enumerate(event.alternatives) if not _blind(alternative, declared))


def _blind(alternative: Alternative, declared: dict[str, str]) -> bool:
    names: list[str] = []
    for sequence in alternative.sequences:
        for part in sequence.parts:
            if not (_template(part, names) if isinstance(part, Template) else _regex(part, declared, names)):
                return False
    return len(names) == len(set(names))  # two captures of one name must have one value


def _template(part: Template, names: list[str]) -> bool:
    for piece in part.pieces:
        if isinstance(piece, str):
            if any(c.isdigit() for c in piece):
                return False
        else:
            if piece.type not in _BLIND:
                return False
            names += [piece.name] if piece.name not in {"", "_"} else []
    return True


def _regex(part: Regex, declared: dict[str, str], names: list[str]) -> bool:
    if "[:" in part.text or not part.text.isascii():
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = _parser.parse(part.text)
    except (re.error, Warning, OverflowError, RecursionError):
        return False
    groups = tree.state.groupdict
    own = dict(part.types)
    names += groups
    return all((own.get(name) or declared.get(name, "text")) in _BLIND for name in groups) and _walk(tree)


def _walk(tree: Any) -> bool:
    return all(_token(str(token), argument) for token, argument in tree)


def _token(token: str, argument: Any) -> bool:
    match token:
        case "LITERAL" | "NOT_LITERAL":
            return argument not in _DIGITS
        case "ANY" | "AT":
            return True
        case "IN":
            return _members(argument)
        case "SUBPATTERN":
            return _walk(argument[3])
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _walk(argument[2])
        case "BRANCH":
            return all(_walk(branch) for branch in argument[1])
        case _:
            return False


def _members(members: Any) -> bool:
    """Whether a class has all digits or none; those that it lists one by one are not put together."""
    for name, value in members:
        match str(name):
            case "LITERAL":
                if value in _DIGITS:
                    return False
            case "RANGE":
                inside = _DIGITS.intersection(range(value[0], value[1] + 1))
                if inside and inside != _DIGITS:
                    return False
            case "CATEGORY":
                if str(value) not in _WORD_SETS:
                    return False
            case "NEGATE":
                continue
            case _:
                return False
    return True
