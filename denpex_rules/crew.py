"""Processes that work beside this one: forked ones, which take numbered batches of the same work as this one does.

A forked process has all that this one has, so that nothing is sent to it but questions. What it tells comes back through a pipe.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from denpex_rules.errors import UsageError

MOST: Final = 1_000  # batches: all their numbers fit into the smallest pipe
KILLED: Final = "a process that read logs was killed; read with --jobs 1 to need less memory"

# Imported where several processes are worth it.
_PROCESSES: Final = "multiprocessing"
_CONNECTION: Final = "multiprocessing.connection"
_NUMBER: Final = 4  # bytes of the number of a batch

Tell = Callable[[Any], None]
Answer = Callable[[Any], Any]
Work = Callable[[Iterator[int], Tell], Answer]


def can_fork() -> bool:
    """Whether this system has forked processes."""
    return "fork" in import_module(_PROCESSES).get_all_start_methods()


class Crew:
    """Some helpers and this process. End it, whatever happens."""

    def __init__(self, helpers: int, batches: int, work: Work, heard: Tell) -> None:
        """Start the helpers.

        Args:
            helpers: how many.
            batches: how many batches there are, at most MOST.
            work: what each helper does: it takes the numbers of batches and may tell of their progress; what it returns answers
                the questions that are asked then, until None is asked.
            heard: takes what they tell of their progress.
        """
        self._heard = heard
        self._links: list[Any] = []
        self._helpers: list[Any] = []
        self._numbers, numbers = os.pipe()
        try:
            os.write(numbers, b"".join(number.to_bytes(_NUMBER) for number in range(batches)))
        finally:
            os.close(numbers)
        forked = import_module(_PROCESSES).get_context("fork")
        for _ in range(helpers):
            link, far = forked.Pipe()
            self._links.append(link)
            helper = forked.Process(target=_help, args=(work, self._numbers, far, [*self._links]), daemon=True)
            helper.start()
            far.close()
            self._helpers.append(helper)

    def batches(self) -> Iterator[int]:
        """Yield the numbers of batches for this process, each of which no helper takes, and listen in between."""
        for number in _taken(self._numbers):
            yield number
            for link in import_module(_CONNECTION).wait(self._links, 0):
                self._listen(link)

    def ask(self, question: Any) -> None:
        """Ask all helpers, who answer when no batch is left; None is the last question."""
        for link in self._links:
            link.send(question)

    def answers(self) -> list[Any]:
        """Wait for the answers of all helpers."""
        return [self._answer(link) for link in self._links]

    def end(self) -> None:
        """End the helpers, wherever they are."""
        os.close(self._numbers)
        for helper, link in zip(self._helpers, self._links, strict=True):
            helper.terminate()
            helper.join()
            link.close()

    def _answer(self, link: Any) -> Any:
        while True:
            found = self._listen(link)
            if found is not None:
                return found[0]

    def _listen(self, link: Any) -> tuple[Any] | None:
        """Take one message, and return the answer that it is; None where it is none."""
        try:
            kind, value = link.recv()
        except (EOFError, OSError) as error:
            raise UsageError(KILLED) from error
        if kind == _FAILED:
            raise value
        if kind == _ANSWER:
            return (value,)
        self._heard(value)
        return None


_TOLD, _ANSWER, _FAILED = range(3)  # kinds of messages


def _help(work: Work, numbers: int, link: Any, others: list[Any]) -> None:
    """Be a helper: work, then answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the other process that an interrupt ends, and that ends this one then
    for other in others:
        other.close()  # else nobody would see that this process or the other ended
    try:
        answer = work(_taken(numbers), lambda told: link.send((_TOLD, told)))
        question: Any = ...
        while question is not None:
            question = link.recv()
            link.send((_ANSWER, answer(question)))
    except Exception as error:  # noqa: BLE001  # it is raised where this process was started
        with suppress(BrokenPipeError):
            link.send((_FAILED, error))


def _taken(numbers: int) -> Iterator[int]:
    """Yield numbers until all are taken: the processes read them from one pipe, and no two read the same."""
    while number := os.read(numbers, _NUMBER):
        yield int.from_bytes(number)
