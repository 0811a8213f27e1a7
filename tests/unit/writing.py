"""Short ways to write rule texts in tests."""

from __future__ import annotations

from denpex_rules.library import check_text, load_text
from denpex_rules.rule import Rule, Step

EVENTS = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"
  event progress in rank "step {step:int} loss"
  event timeout error in rank "Watchdog caught {what:text} ran for {ran:ms} milliseconds"
    moment stalled = time - ran
"""


def text_of(steps: str, *, events: str = EVENTS, meta: str = "", scope: str = "per job within 2h") -> str:
    """Return a whole rule file with these steps."""
    head = 'language 1\nrule hardware.gpu.lost {\n  title "GPU lost"\n  class gpu.fell_off_bus\n'
    return f"{head}{meta}{events}\n  {scope}\n{steps}\n}}\n"


def rule_of(steps: str, **parts: str) -> Rule:
    """Return the one rule of `text_of`."""
    (rule,) = load_text(text_of(steps, **parts)).rules
    return rule


def step_of(step: str, **parts: str) -> Step:
    """Return a step that stands below `require lost`."""
    return rule_of(f"  require lost\n  {step}", **parts).steps[-1]


def codes(text: str) -> list[str]:
    """Return the codes of a text's diagnostics, in order."""
    _, found = check_text(text)
    return [d.code for d in found]
