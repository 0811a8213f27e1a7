"""Every syntax mistake of a file, each once, and what stays of the rest."""

from __future__ import annotations

import pytest

from denpex_rules.errors import Source
from denpex_rules.mending import mend
from denpex_rules.parser import Tree, parse, words
from denpex_rules.recovery import statement_before


def parsed(*lines: str) -> Tree:
    """Return the tree of a file of these lines."""
    return parse(Source("a.rule", "\n".join(lines) + "\n"))


def found(*lines: str) -> list[tuple[str, int]]:
    """Return code and line of each syntax mistake."""
    return [(d.code, d.span.line) for d in parsed(*lines).diagnostics]


def test_one_mistake_a_statement() -> None:
    """Each damaged statement is reported once, at its own line; whole ones between them are kept."""
    lines = ("language 1", "rule a {", "  title GPU", '  summary "x"', "  per within 5m", "  require = x", "  quiet", "}")
    assert found(*lines) == [("E0101", 3), ("E0101", 5), ("E0101", 6), ("E0101", 7)]
    body = parsed(*lines).root.nodes("rule")[0].nodes("body")[0]
    assert [n.kind for n in body.nodes()] == ["summary"]


def test_clauses_on_lines_of_their_own_belong_to_their_statement() -> None:
    """A line that starts with a clause or a moment continues the statement above."""
    lines = (
        "language 1",
        "rule a {",
        "  title GPU",
        "  confirm x",
        "    where rank == 3,",
        "      level == 2",
        "    stalled before y",
        "}",
    )
    assert found(*lines) == [("E0101", 3)]


def test_unclosed_text_ends_with_its_line() -> None:
    """A quote that is never closed swallows its own line only."""
    lines = ("language 1", "rule a {", '  title "GPU', '  summary "x', "  impact = 3", "}")
    assert found(*lines) == [("E0102", 3), ("E0102", 4), ("E0101", 5)]


def test_unclosed_block() -> None:
    """A rule without its closing brace ends where the next begins, or with the file."""
    first = ("language 1", "rule a {", '  title "x"')
    assert found(*first) == [("E0102", 2)]
    assert found(*first, "rule b {", "}") == [("E0102", 2)]
    assert [len(n.nodes("body")[0].nodes()) for n in parsed(*first, "rule b {", "}").root.nodes("rule")] == [1, 0]


def test_brace_too_many() -> None:
    """After one brace too many the statements below still belong to their rule, and one diagnostic says so."""
    lines = ("language 1", "rule a {", '  title "x"', "}", "  require y", "  confirm z", "}", "rule b {", "}")
    assert found(*lines) == [("E0101", 5)]
    first = parsed(*lines).root.nodes("rule")[0]
    assert [n.kind for n in first.nodes("body")[0].nodes()] == ["title", "step", "step"]
    assert found("language 1", "rule a {", "}", "}") == [("E0101", 4)]


def test_details_of_an_event_are_judged_alone() -> None:
    """The head of an event and each of its lines are reported apart."""
    lines = ("language 1", "event a kernel", "  like 3", '  unlik "x"', '  like "x"', "  moment m = x")
    assert found(*lines) == [("E0101", 2), ("E0101", 3), ("E0101", 4), ("E0101", 6)]


def test_misspelt_rule_opens_its_block() -> None:
    """A misspelt `rule` is one mistake; its block is not orphaned."""
    assert found("language 1", "rul a {", '  title "x"', "  require y", "}") == [("E0101", 2)]


@pytest.mark.parametrize(
    ("lines", "mistakes"),
    [
        (("",), [("E0103", 1)]),
        (('event a "x"',), [("E0103", 1)]),
        (("language", 'event a "x"'), [("E0101", 1)]),
        (("language 1", 'title "x"', "class y"), [("E0101", 2)]),
        (("language 1", 'event a "x"', "use lib.b"), [("E0101", 3)]),
        (("language 1", "language 1"), [("E0101", 2)]),
        (("language 1", "some words", "more of them", "and more"), [("E0101", 2)]),
        (("language 1", "rule a {", "  use lib.b", "}"), [("E0101", 3)]),
    ],
)
def test_top_of_the_file(lines: tuple[str, ...], mistakes: list[tuple[str, int]]) -> None:
    """What may stand at the top, in which order, and what is reported once."""
    assert found(*lines) == mistakes


@pytest.mark.parametrize(
    ("text", "tokens", "open_", "ruled"),
    [
        ("", "", False, False),
        ("language 1\nuse lib.a, ", "use lib . a ,", False, False),
        ("language 1\nrule a.", "rule a .", False, False),
        ("language 1\nrule a {", "", False, True),
        ("language 1\nrule a {\n  title ", "title", False, True),
        ('language 1\nrule a {\n  title "x ', 'title "x ', True, True),
        ("language 1\nrule a {\n  require x\n    where rank", "require x where rank", False, True),
        ('language 1\nrule a {\n  event x "y"\n    like "z"\n  per', "per", False, True),
        ("language 1\nrule a {\n}", "", False, False),
        ("language 1\nrule a {\n}\nevent x in", "event x in", False, False),
    ],
)
def test_the_statement_in_front_of_a_place(text: str, tokens: str, open_: bool, ruled: bool) -> None:
    """The pieces of the statement that is being written are found, whether in quotes or not, in a rule or not."""
    start = statement_before(text + " # more", 0, len(text), words())
    assert start is not None
    assert (" ".join(t.text for t in start.tokens), start.open, start.ruled) == (tokens, open_, ruled)
    assert all(text[t.start : t.end] == t.text for t in start.tokens)


def test_no_statement_in_a_comment() -> None:
    """Inside a comment nothing is being written; a sign of a comment inside of quotes starts none."""
    text = 'language 1 # a\nrule a {\n  title "# b'
    assert statement_before(text, 0, text.index("a\n"), words()) is None
    assert statement_before(text, 0, len(text), words()) is not None
    later = statement_before(text, text.index("rule"), len(text), words())
    assert later is not None
    assert later.tokens[0].start == text.index("title")


def test_missing_header_is_mended() -> None:
    """A file that starts with a rule or an event lacks only its first line; another one may be no rule file at all."""
    text = 'event gone in rank "x is gone"\n'
    assert mend(text, parse(Source("a.rule", text)).diagnostics)[0] == f"language 1\n\n{text}"
    odd = 'langage 1\nevent gone in rank "x is gone"\n'
    assert [d.code for d in parse(Source("a.rule", odd)).diagnostics if d.patch and d.patch.safe] == []
