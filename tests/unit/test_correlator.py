"""The step machine beyond what the conformance vectors pin: bounds, storms, explanations."""

from __future__ import annotations

from making import activity, at, sighting
from scenes import LOST, STALL, job, job_sightings, matches, program

from denpex_rules.correlator import BUDGET, describe_miss, references
from denpex_rules.evaluate import Truth
from denpex_rules.rule import Step
from denpex_rules.sighting import Actor

PAIRS = """
  title "Many"
  class gpu.fell_off_bus
  per job within 1h
  require progress
  require second = progress where rank != progress.rank after progress
  require third = progress where rank != second.rank after second
  require timeout where rank != third.rank before progress
"""


def test_storm_of_a_thousand_ranks_is_one_match() -> None:
    """Every rank prints; there is one match for the job."""
    storm = [
        sighting("timeout", at("10:33:12"), source=f"r{r}.log", line=n, actor=Actor(rank=r, host=f"node-{r // 8:03}"), ran=1)
        for r in range(1000)
        for n in (1, 2)
    ]
    found = matches(program(STALL), job(storm, [activity("r0.log", [("10:00:00", "10:40:00")], actor=Actor(rank=0))]))
    assert [m.outcome for m in found] == ["confirmed"]
    assert len(found[0].triggers) == 2000


def test_search_is_bounded_and_says_so() -> None:
    """A rule that multiplies candidates is cut off: the match is inconclusive, not endless."""
    many = [
        sighting("progress", at("10:00:00"), source=f"r{r}.log", actor=Actor(rank=r, host="node-01"), step=r) for r in range(300)
    ]
    seen = [*many, sighting("timeout", at("10:20:00"), source="r0.log", line=9, actor=Actor(rank=0, host="node-01"), ran=10**9)]
    logs = [activity(f"r{r}.log", [("09:00:00", "10:40:00")], actor=Actor(rank=r, host="node-01")) for r in range(300)]
    found = matches(program(PAIRS), job(seen, logs))
    assert {m.outcome for m in found} == {"inconclusive"}
    assert found[0].clauses[0].reason == f"the search was cut off after {BUDGET} candidates"


def test_quiet_match_explains_which_clause_was_false() -> None:
    """A rule whose second step is missing is quiet, and the clause tells by how much the nearest line missed."""
    body = (
        LOST.replace("let bad", "require timeout within 10m after lost\n  let bad")
        .replace("  confirm timeout", "  confirm late = timeout")
        .replace("victim timeout.rank", "victim late.rank")
    )
    (match,) = matches(program(body), job())
    assert match.outcome == "quiet"
    clause = match.clause("timeout")
    assert clause is not None
    assert clause.truth is Truth.FALSE
    assert clause.miss == 20 * 60 + 2
    assert describe_miss(1202) == "nearest miss: 20m2s outside"


def test_untriggered_rule_says_nothing() -> None:
    """Without a sighting of the trigger there is no match at all."""
    assert matches(program(LOST), job([s for s in job_sightings() if s.event != "lost"])) == []


def test_references_follow_lets() -> None:
    """A condition on a let refers to the steps that the let is made of."""
    (rule,) = program(LOST).rules
    silence = next(s for s in rule.steps if s.event == "silence")
    assert isinstance(silence, Step)
    assert references(silence, rule) == {"lost"}
