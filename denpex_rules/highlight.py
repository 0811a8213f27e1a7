"""The rule language for Pygments, which finds this module by its entry point: documentation, `pygmentize`, rich."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, Final

from attrs import fields
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from denpex_rules.parser import keywords
from denpex_rules.sighting import Actor

_NAME: Final = r"[A-Za-z_]\w*"
_DOTTED: Final = rf"{_NAME}(?:\.{_NAME})+"
_TAG: Final = r"[A-Za-z_][\w-]*"
_groups: Final[Callable[..., Any]] = bygroups  # which says nothing of its own types
_HEADER: Final = re.compile(r"(?:\s|#[^\n]*\n)*language\s+\d")


@cache
def _kind(word: str) -> _TokenType:
    """Return what a word is that stands alone, beside no dot."""
    if word in {field.name for field in fields(Actor)}:
        return Name.Builtin
    return Keyword if word in keywords() else Name


def _word(_lexer: RegexLexer, match: re.Match[str], _context: Any = None) -> Iterator[tuple[int, _TokenType, str]]:
    yield match.start(), _kind(match[0]), match[0]


def _called(_lexer: RegexLexer, match: re.Match[str], _context: Any = None) -> Iterator[tuple[int, _TokenType, str]]:
    kind = _kind(match[0])
    yield match.start(), Name.Function if kind is Name else kind, match[0]


class RuleLexer(RegexLexer):
    """Colours of `.rule` files. The reserved words are the grammar's own."""

    name = "denpex rule"
    aliases: ClassVar = ["denpex"]
    filenames: ClassVar = ["*.rule"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"#[^\n]*", Comment.Single),
            (r'"', String.Double, "text"),
            (r"/(?:\\.|[^/\\\n])+/", String.Regex),
            (rf"\b(rule)(\s+)({_DOTTED}|{_NAME})", _groups(Keyword, Whitespace, Name.Class)),
            (rf"\b(event)(\s+)({_NAME})", _groups(Keyword, Whitespace, Name.Label)),
            (rf"\b(tags)(\s+)({_TAG}(?:\s*,\s*{_TAG})*)", _groups(Keyword, Whitespace, Name.Tag)),
            (_DOTTED, Name),
            (rf"{_NAME}(?=\()", _called),
            (_NAME, _word),
            (r"\d+(?:\.\d+)?(?:[A-Za-z]\w*)?", Number),  # with its unit
            (r"[=!<>]=|[=<>&+-]|\.\.", Operator),
            (r"[(){},.:]", Punctuation),
        ],
        "text": [
            (r'"', String.Double, "#pop"),
            (r"\\.|\{\{|\}\}", String.Escape),
            (rf"\{{(?:{_NAME})?:{_NAME}\}}", String.Interpol),
            (r'[^"\\{}\n]+|[{}]', String.Double),
            (r"(?=\n)", String.Double, "#pop"),  # never closed: the mistake ends with its line
        ],
    }

    @staticmethod
    def analyse_text(text: str) -> float:
        """Return how sure it is that this is a rule file: its first line names the language's version."""
        return 0.9 if _HEADER.match(text) else 0.0
