"""The encyclopedia as a whole: indexes, and links that lead somewhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

import pytest

from denpex_rules import Program, compile_rules, load_pack, load_text
from denpex_rules.encyclopedia import pages, place, xid_codes
from denpex_rules.taxonomy import shipped_taxonomy

RULE = """
language 1
rule example.xid {
  title "An Xid"
  class gpu.fell_off_bus
  event xid in kernel "NVRM: Xid (PCI:{device:pci}): {code:int}"
    like "NVRM: Xid (PCI:0000:41:00): 79, x"
  per job within 1h
  require xid WHERE
  blame device xid.device
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    """Return the shipped rules, compiled once."""
    return compile_rules(load_pack())


@pytest.fixture(scope="module")
def book(program: Program) -> Mapping[str, str]:
    """Return the encyclopedia of the shipped rules, without cases."""
    return pages(program, shipped_taxonomy(), {})


def test_one_page_a_rule(book: Mapping[str, str], program: Program) -> None:
    """There is a page for every rule and one for each index, and nothing else."""
    assert set(book) == {place(rule) for rule in program.rules} | {"index.md", "classes.md", "messages.md", "xids.md"}
    assert all(text.startswith("# ") and text.endswith("\n") for text in book.values())


def test_links_lead_somewhere(book: Mapping[str, str]) -> None:
    """Every relative link leads to a page, and its fragment to a heading there."""
    count = 0
    for name, text in book.items():
        for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)):
            if target.startswith("https://"):
                continue
            path, _, anchor = target.partition("#")
            found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            assert found in book, f"{name}: {target}"
            assert not anchor or f"{{#{anchor}}}" in book[found], f"{name}: {target}"
            count += 1
    assert count > 1_000


def test_every_rule_is_in_each_index(book: Mapping[str, str], program: Program) -> None:
    """A rule is found by its layer, its class and its messages."""
    for rule in program.rules:
        assert f"]({place(rule)})" in book["index.md"]
        assert f"]({place(rule)})" in book["classes.md"]
    listed = set(re.findall(r"\]\((denpex/[^)]+)\)", book["messages.md"]))
    assert len(listed) >= len(program.rules) * 0.9


def test_classes_without_a_rule_say_why(book: Mapping[str, str], program: Program) -> None:
    """A class has a rule or a reason, never both and never neither."""
    named = {rule.cls for rule in program.rules}
    for one in shipped_taxonomy().classes.values():
        assert (one.id in named) == (not one.without_rule), one.id
    assert "No rule: " in book["classes.md"]
    assert "No rule.\n" not in book["classes.md"]


def test_messages(book: Mapping[str, str]) -> None:
    """A text that a scan looks for is listed with the rule that it starts."""
    rows = [line for line in book["messages.md"].splitlines() if line.startswith("| <code>") and "fell_off_bus.md" in line]
    assert any("NVRM: Xid" in row for row in rows)


def test_xid_codes_of_the_pack(book: Mapping[str, str]) -> None:
    """Each code leads to the rules that it starts, however the pattern lists it."""
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", book["xids.md"], re.MULTILINE))
    assert "hardware/gpu/fell_off_bus.md" in rows["79"]
    assert "hardware/gpu/page_fault.md" in rows["31"]
    assert "hardware/gpu/channel_cleanup.md" in rows["43"]
    assert "hardware/gpu/gsp_timeout.md" in rows["119"]
    assert not set(rows) & {"0", "41000", "4095"}


@pytest.mark.parametrize(("where", "rows"), [("where code == 79", ["79"]), ("", [])])
def test_xid_of_a_condition(where: str, rows: list[str]) -> None:
    """An event that takes every code is about the one that the trigger asks for, else about none."""
    program = compile_rules(load_text(RULE.replace("WHERE", where)))
    text = pages(program, shipped_taxonomy(), {})["xids.md"]
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == rows
    assert xid_codes(program.events[0], program) == frozenset()
