"""Blocks: the tree of the whole file, from blocks of which only the changed ones are parsed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from denpex_rules.blocks import Blocks, cuts
from denpex_rules.errors import Source
from denpex_rules.parser import Broken, Leaf, Node, parse
from denpex_rules.shipped import shipped

RULES = sorted(p for p in shipped("rules").rglob("*.rule") if "lib" not in p.parts)[:60:6]
SHARED = sorted((shipped("rules") / "lib").glob("*.rule"))[:3]


def bodies() -> str:
    """Return one file with the rules of several."""
    texts = [path.read_text(encoding="utf-8") for path in RULES]
    return "language 1\n\n" + "\n".join(text[text.index("\nrule ") + 1 :] for text in texts)


def ends(item: Node | Leaf | Broken) -> Iterator[Leaf | Broken]:
    """Yield the symbols and broken statements of a tree, which carry its places."""
    if isinstance(item, Node):
        for child in item.children:
            yield from ends(child)
    else:
        yield item


def same(text: str) -> None:
    """Assert that the blocks of a text say what the whole text says."""
    source = Source("a.rule", text)
    blocks, whole = Blocks().parse(source), parse(source)
    assert blocks.pretty() == whole.pretty()
    assert list(ends(blocks.root)) == list(ends(whole.root))
    assert blocks.diagnostics == whole.diagnostics


@pytest.mark.parametrize("path", [*RULES, *SHARED], ids=lambda p: p.stem)
def test_a_file_is_what_it_is_as_a_whole(path: Path) -> None:
    """The tree has the same parts at the same places."""
    same(path.read_text(encoding="utf-8"))


def test_many_rules_in_one_file() -> None:
    """Every rule is a block of its own and none differs."""
    text = bodies()
    assert len(cuts(text)) == len(RULES) + 1
    same(text)
    same(text.replace("\n", "\r\n"))


@pytest.mark.parametrize("seed", range(25))
def test_damaged_files(seed: int) -> None:
    """The mistakes of a damaged file are those of the whole file, in the same order."""
    draw = random.Random(seed)
    text = bodies() if seed % 2 else SHARED[seed % len(SHARED)].read_text(encoding="utf-8")
    for _ in range(3):
        line = draw.choice(text.splitlines(keepends=True))
        place = text.index(line) + draw.randrange(len(line))
        text = text[:place] + draw.choice(("", "whre ", '"', "= =", "§", " 5 ")) + text[place + draw.randrange(4) :]
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "rule a.b {\n}\nrule a.b {\n}\n",
        "language 1\nrule a.b {\n  tags x,\n  rule.y\n}\n",
        'language 1\nidentity\nevent x in rank "abc"\nevent y in rank "abd"\n  like "abd"\n',
        'language 1\nrule a.b {\n  event x in rank "abc"\nrule c.d {\n}\nevent z in rank "abc"\n',
        'language 1\nuse lib.a,\n  lib.b\n\nevent x "abc"\nuse lib.c\n',
    ],
)
def test_odd_files(text: str) -> None:
    """Files without a header, with unclosed rules or with statements at the wrong place are read as a whole would be."""
    same(text)


def test_only_the_changed_block_is_parsed() -> None:
    """After a change of one rule, one block is parsed; after a new line at the top, none of the rules is."""
    blocks, text = Blocks(), bodies()
    blocks.parse(Source("a.rule", text))
    first = blocks.parsed
    assert first == len(cuts(text))
    changed = text.replace("title ", "title  ", 1)
    blocks.parse(Source("a.rule", changed))
    assert blocks.parsed == first + 1
    moved = changed.replace("language 1\n", "language 1\n\n", 1)
    whole = parse(Source("a.rule", moved))
    assert list(ends(blocks.parse(Source("a.rule", moved)).root)) == list(ends(whole.root))
    assert blocks.parsed == first + 2
