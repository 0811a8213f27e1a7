"""Which class a message is like: by the words of the classes and of the rules that name them."""

from __future__ import annotations

import pytest
from drafting import shipped

from denpex_rules.likeness import Vocabulary


@pytest.fixture
def vocabulary() -> Vocabulary:
    """The words of the shipped pack."""
    return shipped().vocabulary


@pytest.mark.parametrize(
    ("message", "cls"),
    [
        ("DataLoader worker (pid 3) is killed by signal", "data.worker_killed"),
        ("step 812: loss is nan", "train.nan_loss"),
        ("fan speed critical on chassis 2", None),
        ("kvstore: quorum lost on member 3", None),
        ("", None),
        ("12 34 56", None),
    ],
)
def test_nearest(vocabulary: Vocabulary, message: str, cls: str | None) -> None:
    """A class is proposed where one stands out, else none."""
    found = vocabulary.nearest(message)
    assert (found.cls if found else None) == cls


def test_reason(vocabulary: Vocabulary) -> None:
    """The words that a message shares with the class are told, the most telling first, and the degree lies between 0 and 1."""
    found = vocabulary.nearest("step 812: loss is nan")
    assert found is not None
    assert found.words[0] == "nan"
    assert 0 < found.degree <= 1


def test_ranked(vocabulary: Vocabulary) -> None:
    """All classes that share a word are ranked, the nearest first; a message without a known word ranks none."""
    ranked = vocabulary.ranked("checksum of the checkpoint differs")
    assert [one.degree for one in ranked] == sorted((one.degree for one in ranked), reverse=True)
    assert vocabulary.ranked("qqq zzz") == ()
