"""Steps in words."""

from __future__ import annotations

import pytest
from scenes import EVENTS

from denpex_rules.library import load_text
from denpex_rules.notation import clause_text

STEPS = [
    "require lost",
    "unless progress between lost - 1m and lost + 5m",
    "confirm silence where rank == lost.rank for 1m after lost + 5s",
    "confirm late = last timeout where rank != lost.rank and ran > 1s distinct rank >= 2 in 10m after lost",
    "refute again = timeout stalled between lost - 1m and lost + 5m",
    "confirm due = timeout before lost",
]


@pytest.mark.parametrize("step", STEPS)
def test_step_reads_as_it_was_written(step: str) -> None:
    """The canonical text of a step is the step."""
    first = "" if step == "require lost" else "require lost\n"
    text = f'language 1\nrule test.r {{\n title "t"\n class gpu.fell_off_bus\n per job within 1h\n {first}{step}\n{EVENTS}\n}}\n'
    (rule,) = load_text(text).rules
    assert clause_text(rule.steps[-1]) == step
