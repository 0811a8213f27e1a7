"""A crew: every batch is taken once, progress and answers come back, and whatever ends a helper is said."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from denpex_rules.crew import MOST, Crew, Tell, can_fork
from denpex_rules.errors import UsageError

pytestmark = pytest.mark.skipif(not can_fork(), reason="there are no forked processes here")


def collect(numbers: Iterator[int], tell: Tell) -> Callable[[Any], Any]:
    """Take batches, tell of each, and answer with them."""
    mine = []
    for number in numbers:
        mine.append(number)
        tell(number)
        time.sleep(0.0005)  # so that others take some too
    return lambda question: (question, os.getpid(), mine)


@pytest.mark.parametrize("helpers", [1, 3])
def test_every_batch_is_taken_once(helpers: int) -> None:
    """This process and the helpers take all batches between them, and what helpers tell is heard before their answer."""
    heard: list[int] = []
    crew = Crew(helpers, MOST, collect, heard.append)
    try:
        mine = []
        for number in crew.batches():
            mine.append(number)
            time.sleep(0.0005)
        crew.ask("who")
        answers = crew.answers()
        crew.ask(None)
        assert [a[0] for a in crew.answers()] == [None] * helpers
    finally:
        crew.end()
    assert {question for question, _, _ in answers} == {"who"}
    assert len({pid for _, pid, _ in answers} | {os.getpid()}) == helpers + 1
    theirs = [number for _, _, numbers in answers for number in numbers]
    assert sorted(mine + theirs) == list(range(MOST))
    assert sorted(heard) == sorted(theirs)
    assert mine
    assert all(numbers for _, _, numbers in answers)


def raising(numbers: Iterator[int], _tell: Tell) -> Callable[[Any], Any]:
    """Fail at the first batch that is left."""
    next(numbers, None)
    raise ValueError("no such line")


def dying(_numbers: Iterator[int], _tell: Tell) -> Callable[[Any], Any]:
    """End as the kernel ends what needs too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    return str


@pytest.mark.parametrize(("work", "error", "words"), [(raising, ValueError, "no such line"), (dying, UsageError, "--jobs 1")])
def test_what_ends_a_helper_is_raised(work: Any, error: type[Exception], words: str) -> None:
    """An error of a helper is raised here, and so is its sudden end, without waiting for others."""
    crew = Crew(2, 5, work, lambda _: None)

    def work_on() -> None:
        for _ in crew.batches():
            time.sleep(0.01)
        crew.ask(None)
        crew.answers()

    try:
        with pytest.raises(error, match=words):
            work_on()
    finally:
        crew.end()


def lingering(_numbers: Iterator[int], _tell: Tell) -> Callable[[Any], Any]:
    """Never come to an end."""
    time.sleep(600)
    return str


def test_an_ended_crew_leaves_no_process() -> None:
    """Helpers that still work are ended."""
    crew = Crew(2, 5, lingering, lambda _: None)
    helpers = [*crew._helpers]
    assert all(helper.is_alive() for helper in helpers)
    crew.end()
    assert not any(helper.is_alive() for helper in helpers)
