"""From lines to a template: what varies by its shape, what by comparison, names, and how a pattern is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import generalise
from denpex_rules.generalise import alike, named, parts, source, trimmed
from denpex_rules.library import load_text
from denpex_rules.pattern import compile_event
from denpex_rules.sighting import Actor


def written(*messages: str, actor: Actor | None = None) -> str:
    """Return the pattern of messages as a rule writes it."""
    pattern = trimmed(generalise.generalise([parts(m) for m in messages]))
    return source(named(pattern, actor) if actor else named(pattern))


@pytest.mark.parametrize(
    ("message", "pattern"),
    [
        ("shard /data/shard-0042.bin: checksum mismatch", '"shard {file:path}: checksum mismatch"'),
        ("open s3://bucket/a/b.pt failed", '"open {file:path} failed"'),
        ("NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU lost", '"NVRM: Xid (PCI:{device:pci}): 79, pid={pid:pid}, GPU lost"'),
        ("pcieport 41:00.0: link down", '"pcieport {device:pci}: link down"'),
        ("connect to 10.0.0.7:29500 failed", '"connect to {peer:address} failed"'),
        ("connect to [fe80::1]:29500 failed", '"connect to {peer:address} failed"'),
        ("store on node-07.cluster:2900 gone", '"store on {peer:address} gone"'),
        ("lost node-07 again", '"lost {peer:host} again"'),
        ("host gpu01 is gone", '"host {peer:host} is gone"'),
        ("rank 5 is gone, Rank7 too", '"rank {peer:rank} is gone, Rank{peer2:rank} too"'),
        ("no answer from ranks [1, 3]: giving up", '"no answer from ranks {peers:ranks}: giving up"'),
        ("local_rank: 3 (pid: 42) died", '"local_rank: {local_rank:local_rank} (pid: {pid:pid}) died"'),
        ("SeqNum=8412 missing", '"SeqNum={seq:seq} missing"'),
        ("tried to allocate 2.50 GiB here", '"tried to allocate {size:bytes} here"'),
        ("ran for 600000 milliseconds or 12.5s", '"ran for {took:ms} milliseconds or {took2:s}s"'),
        ("limit 0:30:00 reached", '"limit {took:hms} reached"'),
        ("mlx5_3: port down", '"{device:device}: port down"'),
        ("fault at 0x7ffe12 in deadbeef01", '"fault at {id:hex} in {id2:hex}"'),
        ("step 812 loss 2.1029 lr 1e-4 done", '"step {step:int} loss {loss:float} lr {lr:float} done"'),
        ("dropped 3 of -4 requests", '"dropped {dropped:int} of {n:int} requests"'),
        ("[Errno 28] no space, exitcode: 1, HTTP 503", '"[Errno 28] no space, exitcode: 1, HTTP 503"'),
        ("H100 v2 shard_12 int8", '"H100 v2 shard_12 int8"'),
        ('a "q" {x} \\ end', r'"a \"q\" {{x}} \\ end"'),
        ("at 2026-11-30 10:04:12,455 it ended", '"it ended"'),
    ],
)
def test_shape(message: str, pattern: str) -> None:
    """One line alone: each part that varies by its shape becomes a capture of its type, all else stays."""
    assert written(message).replace('"at " & ', "").replace('" it ended"', '"it ended"') == pattern


def test_comparison_decides_about_numbers() -> None:
    """Of several lines a number varies when it differs, and an address or path always does."""
    assert written("lane 3: code 12, part 44 of /a/b", "lane 3: code 12, part 45 of /a/b") == (
        '"lane 3: code 12, part {part:int} of {file:path}"'
    )


def test_comparison_finds_codes_words_and_stretches() -> None:
    """What differs is a capture where it is one word or number, and a gap between two templates where it is more."""
    assert written("stage alpha: code 12", "stage beta: code 13") == '"stage {stage:word}: code {code:int}"'
    assert written("took 1 lap", "took 1.5 lap") == '"took {took:float} lap"'
    assert written("load of it, giving up now", "load of a and b, giving up now") == '"load of " & ", giving up now"'


def test_three_lines() -> None:
    """Each further line makes the pattern wider, never narrower."""
    assert written("worker 3 lost in a", "worker 3 lost in b", "worker 4 lost in b") == '"worker {worker:int} lost in {what:word}"'


def test_names_of_who_printed() -> None:
    """A rank or host of the message is the printer's own only where it is known to be."""
    actor = Actor(rank=5, host="node-07")
    assert written("rank 5 on node-07 lost rank 6 on node-08", actor=actor) == (
        '"rank {rank:rank} on {host:host} lost rank {peer:rank} on {peer2:host}"'
    )


def test_holes_that_touch_are_one() -> None:
    """Two captures with nothing between them would not compile, so they are a gap."""
    pattern = named([generalise.Part("1", "int"), generalise.Part("x", "word"), generalise.Part(" of it")])
    assert source(pattern) == '" of it"'


def test_long_messages_are_cut() -> None:
    """A template ends where it has said enough, and never in a hole of any length."""
    pattern = trimmed(parts(" ".join(f"word{'x' * n} {n}" for n in range(40))))
    assert len([p for p in pattern if p.type]) <= generalise.HOLES
    assert sum(len(p.text) for p in pattern if not p.type) < 2 * generalise.FIXED


def test_alike() -> None:
    """Lines are of one shape when most of their parts are equal and a word is among them."""
    assert alike(parts("worker 3 died of thirst"), parts("worker 14 died of thirst"))
    assert not alike(parts("worker 3 died of thirst"), parts("port 3 is up again, at last"))
    assert not alike(parts("1, 2: 3"), parts("4, 5: 6"))


MESSAGES = st.lists(
    st.sampled_from(
        [
            "lost",
            "/data/x",
            "10.0.0.7:1",
            "5",
            "-2.5",
            "rank 3",
            "0x1f",
            "{a}",
            '"q"',
            "\\",
            "node-07",
            "12ms",
            "0000:41:00",
            "é",
            "\t",
            ":",
        ]
    ),
    min_size=1,
    max_size=12,
).map(lambda words: "shard " + " ".join(words))


@given(st.lists(MESSAGES, min_size=1, max_size=4))
def test_pattern_matches_its_lines(messages: list[str]) -> None:
    """Whatever the lines, the pattern is one that the language reads, and each of its lines matches it."""
    text = written(*messages)
    (event,) = (e for e in load_text(f"language 1\nevent probed {text}").events if e.name == "probed")
    pattern = compile_event(event)
    assert [m for m in messages if pattern.match(m.encode()) is None] == []


def test_words() -> None:
    """The words that a pattern fixes are its letters without small words, in the form of names."""
    assert generalise.words(parts("The SeqNum of /data/x and checksum 12")) == ["seq_num", "checksum"]
