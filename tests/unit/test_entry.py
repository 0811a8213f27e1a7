"""One page of the encyclopedia."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules import Program, compile_rules, load_pack, load_text
from denpex_rules.cases import find_cases
from denpex_rules.entry import Links, entry
from denpex_rules.story import Story, tell
from samples import RULE, workshop

LINKS = Links(cls="the class", accuse="printer", causes=("c1",), explained_by=("e1",), see=("s1",), seen_from=("f1",))


def page(program: Program, *stories: Story, links: Links = LINKS) -> str:
    """Return the page of the program's only rule."""
    return entry(program.rules[0], {event.id: event for event in program.events}, links, stories)


@pytest.fixture
def written(tmp_path: Path) -> str:
    """Return the page of the sample rule with its case."""
    program = compile_rules(load_text(RULE))
    workshop(tmp_path)
    return page(program, *tell(find_cases(tmp_path / "cases"), program)["denpex:storage.broken_shard"])


def section(text: str, title: str) -> str:
    """Return the text of one section."""
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_question_has_its_section(written: str) -> None:
    """A page says what it looks like, why, how it is confirmed, who is accused, what to do, and what it could be else."""
    titles = [line.removeprefix("## ") for line in written.splitlines() if line.startswith("## ")]
    assert titles == [
        "What it looks like",
        "Why it happens",
        "How it is confirmed",
        "Who is accused",
        "What to do",
        "What it is confused with",
        "What it causes, and what causes it",
        "Which facts are needed",
        "An example",
        "Cases",
        "References",
    ]
    assert written.startswith("# A rank gave up on a broken shard\n")


def test_what_it_looks_like(written: str) -> None:
    """Each event is shown with where it stands, its template and its examples; the trigger is marked."""
    looks = section(written, "What it looks like")
    assert "### <code>broken</code> (starts the rule)\n\nIn what the ranks print, at severity error or above" in looks
    assert '"shard {file:path}: checksum mismatch, giving up"' in looks
    assert "shard /data/shard-0042.bin: checksum mismatch, giving up" in looks
    assert "### <code>again</code>\n" in looks


def test_why_and_what_to_do(written: str) -> None:
    """Placeholders are shown by name."""
    assert section(written, "Why it happens").strip() == "Rank <code>broken.rank</code> stopped reading <code>broken.file</code>."
    assert "- Restore <code>broken.file</code> from its source." in section(written, "What to do")


def test_who(written: str) -> None:
    """The accused are those of the rule, with their certainty, and what the class allows."""
    who = section(written, "Who is accused")
    assert "- rank <code>broken.rank</code> (certain)" in who
    assert "the process that prints the message" in who


def test_facts(written: str) -> None:
    """Each step names the log that it needs and what happens without it."""
    facts = section(written, "Which facts are needed")
    assert "| what the ranks print | <code>broken</code> | the rule says nothing |" in facts
    assert "| what the ranks print | <code>again</code> | the rule stays inconclusive |" in facts
    assert "time stamps" in facts


def test_example_and_cases(written: str) -> None:
    """The timeline of the confirmed case and the answer to it are shown, and every case with its outcome."""
    example = section(written, "An example")
    assert "| 2026-11-30 10:04:12.455Z | rank 5 | <code>rank5.log:2</code> | <code>broken</code> |" in example
    assert "The answer: confirmed; failed first: rank 5 (certain)." in example
    assert "| two&#95;ranks | rank 5 gives up on a broken shard | confirmed |" in section(written, "Cases")


def test_neighbours(written: str) -> None:
    """What it explains, what explains it and what it is confused with are linked."""
    assert "It explains:\n\n- c1\n\nIt is explained by:\n\n- e1" in section(written, "What it causes, and what causes it")
    assert "- s1\n- f1" in section(written, "What it is confused with")


def test_nobody_is_accused_and_nothing_is_known() -> None:
    """A rule that accuses nobody says so, and sections without a text are left out."""
    program = compile_rules(load_text(RULE.replace("blame rank broken.rank", "blame none")))
    text = page(program, links=Links(cls="c", accuse=""))
    assert "- nobody" in section(text, "Who is accused")
    for title in ("Cases", "An example", "What it is confused with", "What it causes, and what causes it"):
        assert f"## {title}\n" not in text


def test_hostile_examples() -> None:
    """Markup in a rule's texts and examples stays text."""
    rule = RULE.replace("A rank gave up", "<img src=x> **gave** up").replace("shard-0042.bin: checksum", "```<b>.bin: checksum")
    text = page(compile_rules(load_text(rule)))
    assert "# &#60;img src=x&#62; &#42;&#42;gave&#42;&#42; up" in text
    assert "\n````text\nshard /data/```<b>.bin: checksum mismatch, giving up\n````" in text


def test_shipped_rules_have_pages() -> None:
    """Every shipped rule has a page with joins, patterns and roles in words."""
    program = compile_rules(load_pack())
    events = {event.id: event for event in program.events}
    texts = [entry(rule, events, Links(cls="c", accuse="none"), ()) for rule in program.rules]
    assert any("<code>rank&#95;of</code>: the rank that ran on that device" in text for text in texts)
    assert all("## What it looks like\n" in text and "## Which facts are needed\n" in text for text in texts)
