"""Advice about events."""

from __future__ import annotations

from pathlib import Path

import pytest
from advising import EVENTS, LAST, advice, advice_on, codes, event, text_of

from denpex_rules import library
from denpex_rules.lint import lint_rules
from denpex_rules.taxonomy import shipped_taxonomy


def test_stable_rule_needs_examples() -> None:
    """An event of a stable rule has an example; a preview's need not."""
    bare = event('error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"')
    (found,) = advice(text_of(events=bare, meta='  status stable since "0.1"\n'))
    assert (found.code, "`lost`" in found.message) == ("L0101", True)
    assert codes(text_of(events=bare, meta="  status preview\n")) == []


@pytest.mark.parametrize(
    "pattern",
    [
        '"failed"',
        '"ERROR: {what:text}"',
        '"timed out"',
        r"/\berror\b/",
        r"/(?:Error|error): (?P<what>\w+)/",
        'any("NCCL WARN Call to connect", "connection was lost" & "aborted", "Exception")',
    ],
)
def test_common_word(pattern: str) -> None:
    """A pattern that says only that something is bad is in every log."""
    assert "L0102" in codes(text_of(events=event(f"error in rank {pattern}")))


@pytest.mark.parametrize(
    "pattern",
    ['"NCCL error"', '"Error 803"', r"/^Killed$/", '"failed to open shard"', '"error" & "shard {file:path}"'],
)
def test_uncommon_word(pattern: str) -> None:
    """A name, a number or a whole line tells who printed it."""
    assert "L0102" not in codes(text_of(events=event(f"error in rank {pattern}")))


def test_common_word_in_a_guard_is_careful() -> None:
    """What only keeps a rule quiet may be as wide as it likes."""
    wide = EVENTS + '  event excuse "failed"\n    like "failed"\n'
    assert codes(text_of("  require lost\n  unless excuse where job == lost.job", events=wide)) == []
    assert codes(text_of("  require lost\n  confirm excuse where job == lost.job", events=wide)) == ["L0102", "L0103"]


@pytest.mark.parametrize(
    ("head", "pattern", "wide"),
    [
        ("event lost", '"Xid 79,"', True),
        ("event lost", r"/Xid +(?P<code>\d+) +on/", True),
        ("event lost error", '"Xid 79,"', False),
        ("event lost in kernel", '"Xid 79,"', False),
        ("event lost", '"NVRM: Xid (PCI:{device:pci}): 79,"', False),
        ("event lost", 'any("NVRM: Xid (PCI:{device:pci}): 79,", "Xid 79,")', True),
    ],
)
def test_short_text_from_anywhere(head: str, pattern: str, *, wide: bool) -> None:
    """Little fixed text needs a severity or a kind; an emitter's own words need neither."""
    assert codes(text_of(events=event(pattern, head))) == (["L0103"] if wide else [])


def test_unused_event() -> None:
    """An event that no clause names is advised against; one that only a look-up names is used."""
    (found,) = advice(text_of(events=LAST))
    assert (found.code, found.message) == ("L0108", "no rule uses the event `seen`")
    assert codes(text_of("  require lost\n  onset last seen before lost else lost", events=LAST)) == []


def test_building_blocks_alone_are_offers(tmp_path: Path) -> None:
    """Without a rule nothing says that a building block is unused; beside rules it is advised against."""
    block = tmp_path / "lib/shards.rule"
    block.parent.mkdir()
    block.write_text('language 1\nevent gone in rank "shard {file:path} is gone"\n', encoding="utf-8")
    assert lint_rules(library.load_paths([block]), shipped_taxonomy()) == []
    rule = tmp_path / "hardware/gpu/lost.rule"
    rule.parent.mkdir(parents=True)
    rule.write_text(text_of(), encoding="utf-8")
    found = lint_rules(library.load_paths([tmp_path]), shipped_taxonomy())
    assert [(d.code, d.span.path) for d in found if d.code == "L0108"] == [("L0108", str(block))]


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ('any("shard is gone", "the shard is gone for good")', 1),
        ('any("shard is gone", "shard is gone")', 1),
        ('any("shard {file:path} is gone", "the shard {file:path} is gone for good")', 0),
        ('any("shard is gone" & "for good", "shard is gone for ever")', 0),
        ('any("shard is gone", /the shard is gone( for good)?/)', 0),
        ('any("shard is gone", "disk is gone")', 0),
    ],
)
def test_covered_alternative(pattern: str, covered: int) -> None:
    """A plain text that holds another alternative never decides; one with captures or more parts may."""
    found = advice(text_of(events=event(f"error in rank {pattern}")))
    assert [d.code for d in found] == ["L0113"] * covered


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("lost at 2026-11-30T10:04", "a time"),
        ("at 10:04:12 the store was lost", "a time"),
        ("GPU 0000:41:00 is lost", "a PCI address"),
        ("lost contact with 10.0.0.7", "an address"),
        ("worker pid=4242 is lost", "a process id"),
        ("fault at 0x7f00deadbeef", "a memory address"),
        ("listening on 127.0.0.1", ""),
        ("[Rank 0] some ranks are missing", ""),
        ("Xid (PCI:{device:pci}): 79", ""),
        ("version 12.4.1 is not supported", ""),
    ],
)
def test_pasted(pattern: str, what: str) -> None:
    """What differs from run to run is a capture, not a text; a fixed number of the message is fine."""
    found = advice(text_of(events=event(f'error in rank "{pattern}"')))
    assert [(d.code, what in d.message) for d in found] == ([("L0114", True)] if what else [])


@pytest.mark.parametrize(
    ("example", "private"),
    [
        ("lost 93.184.216.34", True),
        ("lost jane.doe@bigcorp.com", True),
        ("lost hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", True),
        ("lost AKIAABCDEFGHIJKLMNOP", True),
        ("lost 10.0.0.7", False),
        ("lost 192.168.3.4", False),
        ("lost 203.0.113.9", False),
        ("lost driver 12.4.1.99", False),
        ("lost ops@example.com", False),
        ("lost root@node-07.local", False),
    ],
)
def test_private_example(example: str, *, private: bool) -> None:
    """An example holds nothing that may be somebody's; invented addresses and version numbers are fine."""
    events = f'  event lost error in rank "lost {{what:text}}"\n    like "{example}"\n'
    assert codes(text_of(events=events)).count("L0115") == private


def test_regex_that_is_a_text() -> None:
    """A regex without a sign of its own is written as a text, by a safe patch; quotes in it are escaped."""
    text = text_of(events=event('error in rank /shard "a" is gone/'))
    (found,) = advice_on(text)
    assert (found.code, found.patch and found.patch.safe) == ("L0116", True)
    assert found.patch
    assert found.patch.edits[0].text == '"shard \\"a\\" is gone"'
    assert codes(text_of(events=event(r"error in rank /shard \w+ is gone/"))) == []
