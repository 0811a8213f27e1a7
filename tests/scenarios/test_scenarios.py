"""Written stories of failed multi-host jobs: no innocent is ever accused, and most are decided."""

from __future__ import annotations

from functools import cache

import pytest

from denpex_rules import Program, compile_rules, load_pack
from scenarios.catalog import SCENARIOS
from scenarios.scenario import Answer, Scenario, judge, read, views

DECIDED = 0.80  # of the stories that their logs decide


@cache
def program() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


@cache
def answers(case: Scenario) -> dict[str, Answer]:
    """Return how each view of a scenario is judged."""
    _, truth = case.build()
    return {name: judge(read(files, program(), case.skew, backwards=back), truth) for name, files, back in views(case)}


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda c: c.name)
def test_no_innocent_is_accused(case: Scenario) -> None:
    """No incident of level failure names a rank, host or device that differs from the truth, in any view."""
    assert not [claim for answer in answers(case).values() for claim in answer.wrong]


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda c: c.name)
def test_decided_or_said_why_not(case: Scenario) -> None:
    """Each view is right, or undecided with the reason or missing fact that the story asks for."""
    assert {name: a.said for name, a in answers(case).items() if a.verdict not in {"right", "undecided"}} == {}


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda c: c.name)
def test_the_order_of_files_does_not_matter(case: Scenario) -> None:
    """The files in reverse order give the same report."""
    files = case.build()[0].logs()
    assert read(files, program(), case.skew) == read(files, program(), case.skew, backwards=True)


def test_most_are_decided_and_right() -> None:
    """At least 80 % of all stories are decided and right in every view."""
    right = sum(all(a.verdict == "right" for a in answers(case).values()) for case in SCENARIOS)
    assert right >= DECIDED * len(SCENARIOS)


def test_an_accused_innocent_is_noticed() -> None:
    """The judge calls a report wrong when the truth is another rank."""
    case = next(c for c in SCENARIOS if c.name == "off_bus_two_hosts")
    other = next(c for c in SCENARIOS if c.name == "off_bus_dmesg_t").build()[1]
    assert judge(read(case.build()[0].logs(), program(), case.skew), other).verdict == "wrong"
