"""From text to a tree with spans; no text makes the parser fail."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import text_of

from denpex_rules.errors import Source
from denpex_rules.parser import MAX_DEPTH, Broken, Leaf, Node, follow, grammar, keywords, parse, symbols, words
from denpex_rules.recovery import Node as RecoveryNode


def nodes(node: Node) -> list[Node]:
    """Return a construct and all inside it."""
    return [node, *(inner for child in node.nodes() for inner in nodes(child))]


def test_spans_quote_the_text() -> None:
    """Every symbol's span covers exactly its text, with line and column from 1."""
    source = Source("a.rule", text_of("  require lost\n  confirm timeout within 1m..5m after lost"))
    tree = parse(source)
    leaves = [leaf for node in nodes(tree.root) for leaf in node.leaves()]
    assert leaves
    for leaf in leaves:
        assert source.text[leaf.span.start : leaf.span.end] == leaf.text
        assert source.line(leaf.span.line)[leaf.span.column - 1 :].startswith(leaf.text)


@pytest.mark.parametrize("space", ["\u2028", "\xa0", "\x0b", "\x85"])
def test_odd_spaces(space: str) -> None:
    """A space that is none of the language's is a mistake wherever it stands, between statements too."""
    lines = ["language 1", "rule a {", '  title "x"', "  class a.b", "}", ""]
    for n in range(len(lines)):
        text = "\n".join((*lines[:n], space + lines[n], *lines[n + 1 :]))
        assert [(d.code, d.span.line) for d in parse(Source("a.rule", text)).diagnostics] == [("E0101", n + 1)]


def test_symbols() -> None:
    """The symbols of a file are all of its text but spaces and comments, in order, tags with a hyphen whole."""
    text = 'language 1 # "no"\nuse lib.a # b\nrule a { # {\n tags silent-crash,b\n require x where n==-1 within 0s..1m30s after y}'
    found = symbols(parse(Source("a.rule", text)))
    assert " ".join(leaf.text for leaf in found) == (
        "language 1 use lib . a rule a { tags silent-crash , b require x where n == - 1 within 0s .. 1m30s after y }"
    )
    assert all(text[leaf.span.start : leaf.span.end] == leaf.text for leaf in found)


def test_keywords_are_names_where_they_can_be_nothing_else() -> None:
    """A dotted class may hold any word of the language."""
    for word in sorted(keywords()):
        tree = parse(Source("a.rule", f"language 1\nrule a {{\n  class {word}.{word}\n}}\n"))
        assert tree.diagnostics == (), word


def test_names_that_start_like_a_keyword() -> None:
    """`last_step` is one name, not the word `last` and a rest."""
    tree = parse(Source("a.rule", text_of("  require last_step\n  confirm first_line = errors_seen before last_step")))
    steps = [n for n in nodes(tree.root) if n.kind == "step"]
    assert [leaf.text for leaf in steps[0].leaves()] == ["require", "last_step"]
    assert [leaf.text for leaf in steps[1].leaves()] == ["confirm", "errors_seen"]


def test_every_statement_keyword_starts_a_statement() -> None:
    """The words that recovery cuts at come from the grammar, so that a new statement needs no second list."""
    for word in ("title", "require", "unless", "identity", "per", "see"):
        tree = parse(Source("a.rule", f"language 1\nrule a {{\n  {word}\n  title 3\n}}\n"))
        assert [d.span.line for d in tree.diagnostics] == [3, 4], word


def test_broken_statement_stays_in_the_tree() -> None:
    """What did not parse is kept with its words; the statements around it are whole."""
    tree = parse(Source("a.rule", 'language 1\nrule a {\n  title GPU\n  summary "x"\n}\n'))
    body = tree.root.nodes("rule")[0].nodes("body")[0]
    assert [b.keyword for b in body.broken()] == ["title"]
    assert body.broken()[0].words == {"title", "GPU"}
    assert [n.kind for n in body.nodes()] == ["summary"]
    assert isinstance(body.children[0], Broken)


def test_calls_nested_too_deeply_are_a_mistake() -> None:
    """Thousands of nested calls end in a diagnostic, not in a stack overflow."""
    call = "f(" * 5000 + "x" + ")" * 5000
    tree = parse(Source("a.rule", text_of(f"  require lost\n  let a = {call}")))
    assert [d.code for d in tree.diagnostics] == ["E0101"]
    assert MAX_DEPTH < 5000


def test_tree_is_made_of_our_own_classes() -> None:
    """Nothing that the parser returns is Lark's."""
    tree = parse(Source("a.rule", text_of("  require lost")))
    assert Node is RecoveryNode
    assert all(isinstance(c, Node | Leaf) for n in nodes(tree.root) for c in n.children)


def test_grammar_is_the_shipped_file() -> None:
    """The grammar is read from its file, comments included."""
    assert grammar().startswith("// The denpex rule language")


def test_model_without_lark() -> None:
    """The classes that rules lower to are imported without Lark."""
    modules = "denpex_rules.rule, denpex_rules.values, denpex_rules.plugins, denpex_rules.taxonomy"
    code = f"import sys, {modules}; assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.text(alphabet=st.sampled_from('\n\n  "/{}()=,.#aeltrw0159m:&-\\é\t'), max_size=200))
def test_any_text_parses(text: str) -> None:
    """Any text gives a tree, and each mistake in it a span inside the text."""
    tree = parse(Source("a.rule", text))
    assert all(0 <= d.span.start <= len(text) for d in tree.diagnostics)


@given(st.integers(0, 400), st.integers(0, 12), st.sampled_from(["", "{", "}", '"', "/", "\n", "require", " 5 ", "==", "event x"]))
def test_damaged_rule_is_reported(start: int, length: int, insert: str) -> None:
    """A rule with a piece cut out or put in still parses, or has a diagnostic that names no symbol of the grammar."""
    text = text_of("  require lost\n  confirm timeout where rank != lost.rank stalled between lost - 1m and lost + 5m")
    tree = parse(Source("a.rule", text[:start] + insert + text[start + length :]))
    said = " ".join(f"{d.message} {d.expected} {d.hint}" for d in tree.diagnostics)
    for symbol in ("LBRACE", "RBRACE", "__ANON", "$END", "DURATION", "STRING"):
        assert symbol not in said


@pytest.mark.parametrize("noise", ["foo bar\n", '"', "/\n", "{", "}", "rule x {\n", "[[[(", "event a\n", "\\\n"])
def test_large_noise_is_quick(noise: str) -> None:
    """A quarter of a megabyte of noise is read without a stack overflow and in linear time."""
    tree = parse(Source("a.rule", noise * (250_000 // len(noise) // 8)))
    assert tree.diagnostics


def test_what_may_follow() -> None:
    """The start of a construct says what it takes next: words as they are written, kinds by name; nothing once it is wrong."""
    assert follow("per job", "body") >= {"within", ",", "require", "title"}
    assert follow("require", "body") == {"first", "last", "NAME"}
    assert follow("require lost where rank ==", "body") >= {"NAME", "INT", "STRING"}
    assert "REGEX" in follow("event lost error", "event")
    assert follow("language", "header") == {"INT"}
    assert follow("require ==", "body") == frozenset()


def test_words() -> None:
    """Statements and lines of events start with reserved words."""
    assert {"title", "event", "require"} <= words().statements <= keywords()
    assert words().details == {"like", "unlike", "with", "moment"}
