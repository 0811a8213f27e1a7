"""What a recorder asks of whatever takes lines ahead of it: to hand over what it knows before that is needed."""

from __future__ import annotations

from typing import Protocol


class Ahead(Protocol):
    """Lines that were taken elsewhere and are known there only."""

    @property
    def marks(self) -> int:
        """How many more marked lines will be kept of the source."""

    @property
    def runs(self) -> int:
        """How many more runs its emitters will have."""

    def settle(self, label: str) -> None:
        """Hand over what is known of one emitter: another line of it is about to be placed."""

    def settle_row(self, event: str, label: str) -> None:
        """Hand over the marked lines of one event and emitter, but its last line: another sighting is about to be kept."""

    def settle_marks(self) -> None:
        """Hand over all marked lines but the last of each emitter."""

    def settle_all(self) -> None:
        """Hand over everything."""

    def finish_all(self) -> None:
        """Hand over everything, last lines as finished where they can be: no more come."""


class NoneAhead:
    """There are no such lines."""

    marks = runs = 0

    def settle(self, label: str) -> None:
        """Do nothing."""

    def settle_row(self, event: str, label: str) -> None:
        """Do nothing."""

    def settle_marks(self) -> None:
        """Do nothing."""

    def settle_all(self) -> None:
        """Do nothing."""

    def finish_all(self) -> None:
        """Do nothing."""
