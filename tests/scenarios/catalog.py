"""All scenarios."""

from __future__ import annotations

from typing import Final

from scenarios import groups, hardware, outside, traps
from scenarios.scenario import FOUND, Scenario

SCENARIOS: Final[tuple[Scenario, ...]] = tuple(FOUND)
MODULES: Final = (hardware, groups, outside, traps)
