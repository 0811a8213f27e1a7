"""How the logs of a job end."""

from __future__ import annotations

import pytest
from attrs import evolve
from making import activity, at, sighting, timeline

from denpex_rules.ending import Ending, ending
from denpex_rules.sighting import Actor, Emitter, Sighting

STEP, DONE = "denpex:lib.progress#step", "denpex:lib.ending#finished"


def steps(rank: int, until: int, every: int = 1) -> list[Sighting]:
    """Return the progress lines of a rank, one each so many minutes from 10:00."""
    return [
        sighting(STEP, at(f"10:{m:02}:00"), source=f"r{rank}.log", line=m + 1, actor=Actor(rank=rank), text=f"step {m} loss 0.{m}")
        for m in range(0, until + 1, every)
    ]


def how(*ranks: list[Sighting], last: dict[int, str] | None = None, extra: tuple[Sighting, ...] = ()) -> Ending | None:
    """Return the ending of ranks whose logs hold their progress lines; `last` are later lines of other kinds."""
    read = []
    for lines in ranks:
        rank = lines[0].actor.rank
        assert rank is not None
        times = [s.instant for s in lines]
        end = (last or {}).get(rank, f"10:{len(lines) - 1:02}:00")
        read.append(activity(f"r{rank}.log", [("10:00:00", end)], actor=Actor(rank=rank), lines=len(times)))
    return ending(timeline([*(s for lines in ranks for s in lines), *extra], read), (STEP, DONE))


def test_ranks_that_stop_together_leave_it_open() -> None:
    """A job that runs and one that was killed as a whole look alike."""
    found = how(steps(0, 20), steps(1, 20))
    assert found is not None
    assert (found.state, found.stopped) == ("open", ())
    assert [lack.need.kind for lack in found.lacks] == ["agent"]  # it saw how the workers ended
    assert found.last.lo == at("10:20:00").lo


def test_a_rank_that_stops_before_the_others_is_cut_off() -> None:
    """A rank whose last line is progress that others went on with for minutes was stopped; the launcher's log would tell how."""
    found = how(steps(0, 20), steps(1, 10), steps(2, 20))
    assert found is not None
    assert (found.state, [a.rank for a in found.stopped]) == ("cut_off", [1])
    assert found.reasons == (
        "rank 1 made its last progress at 2026-11-30T10:10:00Z and said no more; others went on for more than 9m",
    )
    assert [lack.need.kind for lack in found.lacks] == ["agent", "scheduler", "kernel"]


@pytest.mark.parametrize("until", [17, 18, 19])
def test_a_short_lead_proves_nothing(until: int) -> None:
    """Three times the usual spacing may pass between two lines of a rank."""
    found = how(steps(0, 20), steps(1, until))
    assert found is not None
    assert found.state == "open"


def test_parting_words_are_no_cut() -> None:
    """A rank that said something after its last progress did not stop in the middle of its work."""
    found = how(steps(0, 20), steps(1, 10), last={1: "10:10:30"})
    assert found is not None
    assert found.state == "open"


def test_other_lines_do_not_show_that_the_work_went_on() -> None:
    """Ranks that load data together and train on one rank's log are no sign: the lines that go on are of another kind."""
    training = [
        sighting(STEP, at(f"10:{m}:00"), source="r0.log", line=m, actor=Actor(rank=0), text=f"epoch {m} lr 0.1") for m in (15, 20)
    ]
    found = how([*steps(0, 10), *training], steps(1, 10), last={0: "10:20:00"})
    assert found is not None
    assert found.state == "open"


def test_work_that_is_done() -> None:
    """A line that says so ends the job, whoever stopped before."""
    done = sighting(DONE, at("10:21:00"), source="r0.log", line=99, actor=Actor(rank=0))
    found = how(steps(0, 20), steps(1, 10), last={0: "10:21:00"}, extra=(done,))
    assert found is not None
    assert found.state == "ended"


def test_a_host_s_log_alone_has_no_ending() -> None:
    """Only the logs of ranks and their launcher end; one without times ends at no time that is known."""
    assert ending(timeline([], [activity("kern.log", [("10:00:00", "10:01:00")], kind="kernel")]), ()) is None
    found = ending(timeline([], [activity("r0.log", [])]), ())
    assert found is not None
    assert (found.state, found.last.known) == ("open", False)


def test_local_ranks_are_told_apart_by_their_agent() -> None:
    """Where only local ranks are known, the processes of one log folder are compared; both streams of one count as it."""
    read, seen = [], []
    for local, until in ((0, 20), (1, 10), (2, 20)):
        folder = f"run/attempt_0/{local}"
        own = Actor(local_rank=local)
        seen += [evolve(s, emitter=Emitter(f"{folder}/stderr.log"), actor=own) for s in steps(0, until)]
        read.append(activity(f"{folder}/stderr.log", [("10:00:00", f"10:{until}:00")], actor=own, lines=until + 1))
        read.append(activity(f"{folder}/stdout.log", [("10:00:00", "10:00:00")], actor=own, lines=1))
    found = ending(timeline(seen, read), (STEP, DONE))
    assert found is not None
    assert (found.state, [a.local_rank for a in found.stopped]) == ("cut_off", [1])
    assert found.reasons[0].startswith("local rank 1 made its last progress")
    spoke = evolve(read[3], runs=((at("10:00:00").lo, at("10:15:00").lo),))
    found = ending(timeline(seen, [*read[:3], spoke, *read[4:]]), (STEP, DONE))
    assert found is not None
    assert found.state == "open"
