"""What stands in a rule, and the shape of advice."""

from __future__ import annotations

from denpex_rules import library
from denpex_rules.errors import NOWHERE
from denpex_rules.rule import Path
from denpex_rules.usage import Use, advice, parts

RULE = """language 1
rule example.lost {
  title "x"
  class gpu.fell_off_bus
  event lost in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
  event seen in rank "saw the last batch"
  event back in kernel "NVRM: GPU {device:pci} is back"
  per job within 2h
  require lost
  let bad = rank_of(lost.host, lost.device)
  refute back where host == lost.host after lost
  blame rank bad
  onset last seen before lost else lost
}
"""


def test_use() -> None:
    """A rule uses the events of its steps and look-ups; only required and confirming ones speak for it."""
    use = Use.of(library.load_text(RULE).rules[0])
    assert {e.rpartition("#")[2] for e in use.events} == {"lost", "seen", "back"}
    assert {e.rpartition("#")[2] for e in use.proof} == {"lost"}
    assert {"lost", "bad"} <= use.names


def test_parts() -> None:
    """Every part of a rule is found, however deep."""
    rule = library.load_text(RULE).rules[0]
    assert {(p.name, p.field) for p in parts(rule) if isinstance(p, Path)} >= {("lost", "device"), ("bad", None), ("host", None)}


def test_advice_is_a_warning() -> None:
    """Advice never keeps a rule from being used."""
    assert advice("L0106", "x", NOWHERE).severity == "warning"
