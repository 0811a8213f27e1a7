"""What every rule of the shipped pack must say to the person who reads it at night."""

from __future__ import annotations

import pytest

from denpex_rules import load_pack
from denpex_rules.rule import Rule

RULES = load_pack().rules


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_says_all_that_a_reader_needs(rule: Rule) -> None:
    """A rule tells its mechanism, how to check, what to do, what it is confused with, where to read on, and since when it is."""
    said = {
        "summary": rule.summary,
        "tags": rule.tags,
        "why": rule.why.pieces,
        "do": rule.do,
        "verify": rule.verify,
        "see": rule.see,
        "ref": rule.references,
        "since": rule.since,
    }
    assert [name for name, value in said.items() if not value] == []
