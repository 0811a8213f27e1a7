"""Schools: what one source taught is known to those like it, and to no others."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from denpex_rules import school
from denpex_rules.care import CARE, GLUED, MARKS
from denpex_rules.formats import describe, peel
from denpex_rules.forms import OFTEN, Forms
from denpex_rules.record import Hints, LineFormat
from denpex_rules.school import School, body_of, school_of, skeleton_of
from denpex_rules.sighting import Actor

TEE = b"[default%d]:2026-11-30 10:00:%02d,%03d INFO loader: shard %d read"
PLAIN = b"2026-11-30 10:00:%02d,%03d INFO loader: shard %d read"
GLOG = b"I1130 10:00:%02d.%06d 4242 worker.cc:88] shard %d read"

EXAMPLES = [example.encode() for _, example, _ in describe()]


def messages() -> list[bytes]:
    """Return what stands in examples of all formats behind a space or a bracket, but for what asks for care by a text in it."""
    found = {
        example[at.start() : at.start() + 160] for example in EXAMPLES for at in re.finditer(rb"(?<![^ \]:\[(|-])(?=.)", example)
    }
    return sorted(text for text in found if not any(mark in text for mark in (*CARE, *MARKS)))


def examined(taught: School, line: bytes) -> bool:
    """Teach the form of a line; say whether it has one."""
    body = body_of(line, peel(line))
    return bool(body) and taught.examine(skeleton_of(line, body), line, body) is not None


def knows(taught: School, line: bytes) -> bool:
    """Say whether the form of a line is known."""
    return taught.known(skeleton_of(line, body_of(line, peel(line))), line) is not None


def test_a_school_knows_what_it_was_taught() -> None:
    """Lines of a form are known whatever their numbers are; other lines are not."""
    taught = School(peel)
    assert not knows(taught, TEE % (3, 7, 125, 9))
    assert taught.shown([TEE % (3, 7, 125, 9)]) == []
    assert examined(taught, TEE % (3, 7, 125, 9))
    assert examined(taught, PLAIN % (7, 125, 9))
    assert knows(taught, TEE % (12, 59, 0, 100))
    assert not knows(taught, TEE.replace(b"INFO", b"DEBUG") % (3, 7, 125, 9))
    assert examined(taught, b"step 10 done")
    assert not examined(taught, b"INFO done")  # a date could follow: another format's line
    assert not examined(taught, b"10 steps done")
    assert examined(taught, GLOG % (7, 125, 9))
    dated = (GLOG % (7, 125, 9)).replace(b"I1130", b"I20261130")  # the same but for the width of a number
    assert not knows(taught, dated)
    assert examined(taught, dated)
    assert knows(taught, dated)


def test_a_logger_that_binds_a_rank_behind_its_message_has_no_form() -> None:
    """Structlog's console names the rank at the end of a line: no prefix tells whose it is."""
    assert not examined(School(peel), b"2026-11-30 10:00:22 [info     ] shard read   n=3")
    assert not examined(school_of(peel, Hints(Actor(rank=3), process=True)), b"2026-11-30 10:00:22 [info     ] shard read   n=3")
    assert examined(School(peel), b"2026-11-30 10:00:22 [INFO] shard read   n=3")


def test_lines_show_which_forms_they_have() -> None:
    """Of all that is known, a source takes what its own lines show."""
    taught = School(peel)
    for line in (TEE % (3, 7, 125, 9), PLAIN % (7, 125, 9), GLOG % (7, 125, 9)):
        assert examined(taught, line)
    tee, plain, glog = taught.shown([TEE % (1, 1, 1, 1), PLAIN % (1, 1, 1), b"", GLOG % (1, 1, 1)])
    assert taught.shown([PLAIN % (8, 9, 10), b"step 10 done"]) == [plain]
    assert taught.shown([GLOG % (8, 9, 10), TEE % (8, 9, 10, 11)]) == [tee, glog]


def test_a_source_takes_what_another_taught() -> None:
    """A form that another source's second line taught is in use from the first line on; what it learns itself is its own."""
    taught = School(peel)
    first, second = Forms(peel), Forms(peel)
    assert not first.attend(taught, [PLAIN % (7, 1, 9)])
    for second_of in (7, 8):
        line = PLAIN % (second_of, 1, 9)
        first.learn(line, peel(line))
    assert second.attend(taught, [PLAIN % (30, 2, 9)])
    second.refresh()
    assert second.head(PLAIN % (31, 4, 9), 0)[0] is not None
    line = PLAIN.replace(b"INFO", b"DEBUG") % (7, 1, 9)
    for _ in range(2):
        second.learn(line, peel(line))
    second.refresh()
    first.refresh()
    assert second.head(line, 0)[0] is not None
    assert first.head(line, 0)[0] is None
    first.learn(line, peel(line))  # seen once here, but twice there
    first.refresh()
    assert first.head(line, 0)[0] is not None


def test_names_make_no_school_claims_do() -> None:
    """Files of two ranks learn together; those whose place claims something else, or whose wrappers differ, do not."""
    three = Hints(Actor(rank=3, host="node-07"), "rank", "a/rank_3.log", process=True)
    four = Hints(Actor(rank=4, host="node-08"), "rank", "b/rank_4.log", process=True)
    assert school_of(peel, three) is school_of(peel, four)
    others = [
        Hints(Actor(rank=4), "rank", process=True),
        Hints(Actor(rank=4, host="node-08"), "rank"),
        Hints(Actor(rank=4, host="node-08"), "kernel", process=True),
        Hints(Actor(rank=4, host="node-08"), "rank", process=True, wrappers=frozenset({"srun_label"})),
        Hints(Actor(rank=4, host="node-08"), "rank", process=True, tagged=True),
        Hints(Actor(rank=4, host="node-08"), "rank", process=True, formats=(LineFormat("own", ("{time} {text}",)),)),
    ]
    assert len({id(school_of(peel, hints)) for hints in (three, *others)}) == 1 + len(others)


def test_a_number_tells_whose_line_it_is_whatever_the_place_names() -> None:
    """A rank in a line is told apart also where a digit makes it the one that the file's name has."""
    taught = school_of(peel, Hints(Actor(rank=4)))
    line = b"[rank3]: 2026-11-30 10:00:07,125 INFO loader: shard 9 read"
    body = body_of(line, peel(line))
    prefix = taught.examine(skeleton_of(line, body), line, body)
    assert prefix is not None
    assert prefix.roles == ("who", "when")


def test_a_full_school_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is bounded; then it is learned again."""
    monkeypatch.setattr(school, "TAUGHT", 2)
    taught = School(peel)
    for line in (TEE % (3, 7, 125, 9), PLAIN % (7, 125, 9), GLOG % (7, 125, 9)):
        assert examined(taught, line)
    assert [knows(taught, line) for line in (TEE % (3, 7, 125, 9), PLAIN % (7, 125, 9), GLOG % (7, 125, 9))] == [False, False, True]
    assert len(taught.shown([TEE % (3, 7, 125, 9), GLOG % (7, 125, 9)])) == 1


def test_a_date_that_few_others_are_near_varies_too() -> None:
    """Of a month's 30th and last day no other last digit makes a date, but other tens do; the day after has the same form."""
    taught = School(peel)
    assert examined(taught, b"2026-11-30 10:00:07,125 INFO loader: shard 3 read")
    assert knows(taught, b"2026-12-01 00:00:07,125 INFO loader: shard 3 read")


def test_a_message_that_claims_its_rank_has_no_form() -> None:
    """Where a logger reads `[Rank 3]` at the start of a message as the speaker, that message is not of the form of the others."""
    taught = School(peel)
    assert examined(taught, PLAIN.replace(b"loader: ", b"") % (7, 125, 9))
    assert not knows(taught, b"2026-11-30 10:00:07,125 INFO [Rank 3] shard 9 read")
    assert not knows(taught, b"2026-11-30 10:00:07,125 INFO [node 3] shard 9 read")
    assert examined(taught, b"[2026-11-30 10:00:07,125] [INFO] shard 9 read")
    assert not knows(taught, b"[2026-11-30 10:00:07,125] [INFO] [engine.py:96:log_dist] [Rank 3] shard 9 read")
    assert examined(taught, b"[rank3]:[I1130 10:00:07.125000000 ProcessGroupNCCL.cpp:616] [Rank 3] shard 9 read")
    assert knows(taught, b"[rank5]:[I1130 10:00:07.125000000 ProcessGroupNCCL.cpp:616] [Rank 5] shard 9 read")


def test_a_message_that_begins_like_a_program_has_no_form() -> None:
    """Behind a bare stamp and a word, a kernel's or a service's line is a host's, the word its name; another message is not."""
    taught = School(peel)
    assert examined(taught, b"2026-11-30T10:00:07.125Z step 9 done")
    assert knows(taught, b"2026-11-30T10:00:08.125Z step 10 done")
    assert knows(taught, b"2026-11-30T10:00:08.125Z step 10: done")
    for message in (b"kernel: oops", b"systemd[1]: Started x", b"9trainer[77]: x"):
        assert not knows(taught, b"2026-11-30T10:00:08.125Z step " + message)


@pytest.mark.parametrize("line", [b"2026-11-30T10:00:07.125Z step 9 done", b"2026-11-30T10:00:07.125Z step "])
def test_words_that_a_number_or_the_end_cut_short_are_followed_by_numbers(line: bytes) -> None:
    """Else a name and its level would be taken for a word and a message: `step ERROR …` is a logger's line."""
    forms = Forms(peel)
    for _ in range(OFTEN + 1):
        forms.learn(line, peel(line))
    forms.refresh()
    assert forms.head(b"2026-11-30T10:00:08.125Z step 10 done\n", 0)[0]
    assert not forms.head(b"2026-11-30T10:00:08.125Z step ERROR read failed\n", 0)[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e[:40].decode())
def test_no_message_reads_as_more_of_a_prefix(example: bytes) -> None:
    """A form tells the same as reading in full, whatever of the lines of any other format stands behind its prefix."""
    line = peel(example)
    body = body_of(example, line)
    forms = Forms(peel)
    for _ in range(2):
        forms.learn(example, line)
    forms.refresh()
    if not body or not forms.any:
        return
    for message in messages():
        raw = example[:body] + message
        form, _ = forms.head(raw + b"\n", 0)
        told = peel(raw)
        if form and GLUED not in raw[1:]:
            assert evolve(told.without_text(), body=0) == evolve(line.without_text(), body=0), message
            assert body_of(raw, told), message


@pytest.mark.parametrize(
    "line",
    [
        b"2026-11-30T10:00:07.123456789Z stdout F [rank3]: shard 9 read",
        b"2026-11-30T10:00:07.123456789Z [rank3]: shard 9 read",
        b" [2026-11-30 10:00:07] iteration       60/    1000 | shard 9 read",
    ],
)
def test_the_begin_of_a_second_has_the_form_of_its_other_times(line: bytes) -> None:
    """A fraction varies freely also where it makes an arrival's time the very first of a second; a space may follow a prefix."""
    taught = School(peel)
    assert examined(taught, line)
    assert knows(taught, line.replace(b"123456789", b"000000000"))
    assert knows(taught, line.replace(b":07", b":59"))
