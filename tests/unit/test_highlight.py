"""The lexer for Pygments knows every file of the pack and every word of the grammar."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from denpex_rules.highlight import RuleLexer
from denpex_rules.parser import keywords
from denpex_rules.shipped import shipped

ROOT = Path(__file__).resolve().parents[2]


def lexed(text: str) -> list[tuple[object, str]]:
    """Return the pieces of a text with their kinds, without spaces."""
    return [(kind, piece) for kind, piece in RuleLexer().get_tokens(text) if kind is not Whitespace]


def test_pack() -> None:
    """Every file of the pack is known to the last character, and comes out as it went in."""
    paths = sorted(shipped("rules").rglob("*.rule"))
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        pieces = list(RuleLexer().get_tokens(text))
        assert [piece for kind, piece in pieces if kind is Error] == [], path
        assert "".join(piece for _, piece in pieces) == text


@pytest.mark.parametrize("word", sorted(keywords()))
def test_reserved_words(word: str) -> None:
    """Every reserved word of the grammar is coloured as one; beside a dot it is a name."""
    assert lexed(word) in ([(Keyword, word)], [(Name.Builtin, word)])
    assert lexed(f"{word}.x a.{word}") == [(Name, f"{word}.x"), (Name, f"a.{word}")]


def test_kinds() -> None:
    """Names that are declared, calls, tags, numbers with units, templates and comments have kinds of their own."""
    assert lexed('event lost "a {x:int} {{ \\n" & /b\\/#/ # why') == [
        (Keyword, "event"),
        (Name.Label, "lost"),
        (String.Double, '"'),
        (String.Double, "a "),
        (String.Interpol, "{x:int}"),
        (String.Double, " "),
        (String.Escape, "{{"),
        (String.Double, " "),
        (String.Escape, "\\n"),
        (String.Double, '"'),
        (Operator, "&"),
        (String.Regex, "/b\\/#/"),
        (Comment.Single, "# why"),
    ]
    assert lexed("rule a.b {") == [(Keyword, "rule"), (Name.Class, "a.b"), (Punctuation, "{")]
    assert lexed("tags first-error, b") == [(Keyword, "tags"), (Name.Tag, "first-error, b")]
    assert lexed("let bad = rank_of(x) - 1m30s") == [
        (Keyword, "let"),
        (Name, "bad"),
        (Operator, "="),
        (Name.Function, "rank_of"),
        (Punctuation, "("),
        (Name, "x"),
        (Punctuation, ")"),
        (Operator, "-"),
        (Number, "1m30s"),
    ]


def test_a_text_that_is_never_closed_ends_with_its_line() -> None:
    """One missing quote does not colour the rest of the file."""
    assert lexed('title "x\nclass')[-1] == (Keyword, "class")


def test_a_file_is_recognised() -> None:
    """A file is known by its name, and by its first line."""
    assert RuleLexer.analyse_text("# why\nlanguage 1\n") > 0.5
    assert RuleLexer.analyse_text("# language 1\n") == 0.0


def test_entry_point() -> None:
    """The entry point by which Pygments finds the lexer leads to it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["denpex"].partition(":")
    assert getattr(import_module(module), name) is RuleLexer
    assert RuleLexer.aliases == ["denpex"]
