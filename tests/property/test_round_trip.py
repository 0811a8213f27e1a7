"""Laying a rule file out changes what it looks like and nothing else: the whole pack, and random files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from denpex_rules.errors import RuleError, Source
from denpex_rules.layout import format_text
from denpex_rules.parser import Node, parse, symbols
from denpex_rules.shipped import shipped
from sentences import sentence, spaced

FILES = sorted(shipped("rules").rglob("*.rule"))
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/(?:\\.|[^/\\\n])+/|(#[^\n]*)')

seeds = st.integers(0, 2**64 - 1)
thousand = settings(max_examples=20_000 if os.environ.get("DENPEX_FUZZ") else 1_000)


def comments(text: str) -> list[str]:
    """Return the comments of a file, sorted: one may move above its line."""
    return sorted(match[1].rstrip() for match in COMMENT.finditer(text) if match[1])


def tree(text: str) -> str:
    """Return the tree of a file without its spans."""
    parsed = parse(Source("x.rule", text))
    assert parsed.diagnostics == ()
    return parsed.pretty()


def assert_round_trip(text: str) -> None:
    """Assert that a file's layout keeps its tree and its comments, and is its own layout."""
    laid_out = format_text(text)
    assert tree(laid_out) == tree(text)
    assert comments(laid_out) == comments(text)
    assert format_text(laid_out) == laid_out
    assert not re.search(r"[ \t]$|\n\n\n|\n\Z\n|\t", re.sub(COMMENT, "x", laid_out), re.MULTILINE)


def test_pack() -> None:
    """Every file of the pack keeps its tree and its comments, as it stands and with its symbols strewn over lines."""
    for number, path in enumerate(FILES):
        text = path.read_text(encoding="utf-8")
        assert_round_trip(text)
        found = [leaf.text for leaf in symbols(parse(Source(str(path), text)))]
        strewn = spaced(found, Random(number), comments=True)
        assert tree(strewn) == tree(text)
        assert_round_trip(strewn)


@thousand
@given(seeds)
def test_random_files(seed: int) -> None:
    """A random file keeps its tree and its comments, wherever they stand."""
    random = Random(seed)
    assert_round_trip(spaced(sentence(random, random.choice((30, 100, 300))), random, comments=True))


@given(seeds)
def test_one_layout(seed: int) -> None:
    """The layout depends on the symbols alone, not on how they were spaced and broken."""
    random = Random(seed)
    found = sentence(random, 200)
    assert format_text(spaced(found, random, comments=False)) == format_text(" ".join(found))


@given(st.sampled_from(FILES), st.data())
def test_damaged_files(path: Path, data: st.DataObject) -> None:
    """A file with a piece cut out and something typed in is laid out where it still parses, and refused with its mistakes else."""
    text = path.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    typed = data.draw(st.text(alphabet='#"/{}(),.&\n\r\t\x00\x0b\u2028 ae5é', max_size=3))
    damaged = text[:start] + typed + text[start + data.draw(st.integers(0, 20)) :]
    if parse(Source("x.rule", damaged)).diagnostics:
        with pytest.raises(RuleError):
            format_text(damaged)
    else:
        assert_round_trip(damaged)


def kinds(node: Node) -> set[str]:
    """Return the kinds of a construct and of all inside it."""
    return {node.kind}.union(*(kinds(child) for child in node.nodes()))


def test_random_files_hold_every_construct() -> None:
    """Random files hold every construct that the pack uses."""
    texts = (spaced(sentence(random), random, comments=False) for random in map(Random, range(300)))
    drawn = set().union(*(kinds(parse(Source("x.rule", text)).root) for text in texts))
    used = set().union(*(kinds(parse(Source("x.rule", path.read_text(encoding="utf-8"))).root) for path in FILES))
    assert used - drawn == set()
