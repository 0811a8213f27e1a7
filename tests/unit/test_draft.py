"""The text of a drafted rule: what it requires and confirms, its class, whom it blames, and that it compiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from drafting import AGAIN, logs, marks, shipped

from denpex_rules.draft import Draft, draft
from denpex_rules.layout import format_text
from denpex_rules.library import load_text


def drafted(folder: Path, *places: str, **options: object) -> Draft:
    """Return the draft of places in the logs of a folder; its text loads."""
    made = draft(marks(folder, *places), shipped(), **options)  # type: ignore[arg-type]
    assert load_text(made.text).rules[0].id == made.id
    return made


def kernel(folder: Path) -> Path:
    """Write a kernel log in which two devices fail."""
    (folder / "kern_node-07.log").write_text(
        "Nov 30 10:04:11 node-07 kernel: [  123.456789] acme_nic 0000:3b:00.0 eth0: firmware wedged, code 0x1f\n"
        "Nov 30 10:04:11 node-07 kernel: [  123.456799] acme_nic 0000:5e:00.0 eth1: firmware wedged, code 0x20\n"
    )
    return folder


def test_whole_text(tmp_path: Path) -> None:
    """The draft of a failure and its symptom reads as an author would have written it."""
    made = drafted(logs(tmp_path), "logs/rank5.log:2", "logs/rank0.log:2", healthy=[AGAIN], cls="data.worker_exception")
    assert (
        format_text(made.text)
        == """\
language 1

use lib.c10d.timeout

rule application.shard_checksum_mismatch {
  title   "Shard …: checksum mismatch, giving up"
  class   data.worker_exception
  status  draft
  causes  collective.timeout

  event shard_checksum error in rank
    "shard {file:path}: checksum mismatch, giving up"
    like   "shard /data/shard-0042.bin: checksum mismatch, giving up"
    unlike "shard /data/shard-0042.bin: checksum mismatch, reading it again"

  per job within 2h
  require shard_checksum
  confirm timeout  where rank != shard_checksum.rank  stalled between shard_checksum - 1m and shard_checksum + 5m

  blame   rank shard_checksum.rank likely
  onset   shard_checksum
  reporter timeout.rank
}
"""
    )
    assert made.innocent == (0,)
    assert made.trigger == "shard_checksum"


def test_without_a_class_nobody_is_blamed(tmp_path: Path) -> None:
    """Where no class stands out the draft says so, names the nearest ones, and blames nobody."""
    made = drafted(logs(tmp_path), "logs/rank5.log:2")
    assert "  class   unclassified\n" in made.text
    assert "  blame   none\n" in made.text
    assert "the nearest are" in made.notes[0]
    assert made.notes[1].endswith("if you know that it is, write `blame rank shard_checksum.rank`")


def test_class_of_a_shipped_rule(tmp_path: Path) -> None:
    """A line that starts a shipped rule has its class, and the author is told to say how the new rule differs."""
    (tmp_path / "kern_node-07.log").write_text(
        "Nov 30 10:04:11 node-07 kernel: [  1.2] NVRM: Xid (PCI:0000:06:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    made = drafted(tmp_path, "kern_node-07.log:1")
    assert "  class   gpu.fell_off_bus\n" in made.text
    assert made.id.startswith("hardware.")
    assert any("starts on this line too: say in `see`" in note for note in made.notes)


def test_device_in_the_message(tmp_path: Path) -> None:
    """A class whose messages name the device blames that device and the host that printed, and no more than likely."""
    made = drafted(kernel(tmp_path), "kern_node-07.log:1-2", cls="net.nic_failure")
    assert '  event acme_nic in kernel "acme_nic {device:pci} {device2:device}: firmware wedged, code {code:hex}"' in made.text
    assert "  blame   device acme_nic.device, host acme_nic.host likely\n" in made.text
    assert made.id == "network.acme_nic_firmware"


def test_symptom_blames_nobody(tmp_path: Path) -> None:
    """A draft of a symptom's class accuses nobody."""
    made = drafted(logs(tmp_path), "logs/rank0.log:2")
    assert "  class   collective.timeout\n" in made.text
    assert "  blame   none\n" in made.text


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ("2026-11-30 10:00:00,000", "2026-11-30 10:00:20,000", "where rank == lane_dropped.rank within 1m after lane_dropped"),
        ("2026-11-30 10:00:00,000", "2026-11-30 10:04:00,000", "where rank == lane_dropped.rank within 10m after lane_dropped"),
        ("2026-11-30 10:00:00,000", "2026-11-30 10:00:02,000", "where rank == lane_dropped.rank at lane_dropped give 1m"),
        ("2026-11-30 10:00:30,000", "2026-11-30 10:00:00,000", "where rank == lane_dropped.rank within 1m before lane_dropped"),
    ],
)
def test_window_has_room(tmp_path: Path, first: str, second: str, relation: str) -> None:
    """A further line confirms in a window twice as wide as the gap that was seen, on both sides where clocks can't tell."""
    lines = sorted([f"{first} ERROR [x.py:1] lane 3 dropped", f"{second} WARNING [x.py:1] fuse of rack 7 blew"])
    (tmp_path / "rank5.log").write_text("".join(f"{line}\n" for line in lines))
    made = drafted(tmp_path, "rank5.log:1", "rank5.log:2")
    assert f"  confirm fuse_rack  {relation}\n" in made.text


def test_lines_without_stamps(tmp_path: Path) -> None:
    """Without stamps the order of the lines is all that is known."""
    (tmp_path / "rank5.log").write_text("fuse of rack 7 blew\nRuntimeError: lane 3 dropped\n")
    made = drafted(tmp_path, "rank5.log:1", "rank5.log:2")
    assert "  confirm fuse_rack  where rank == lane_dropped.rank before lane_dropped\n" in made.text


def test_path(tmp_path: Path) -> None:
    """The path is free; one that is asked for is taken as it is."""
    taken = frozenset({"application.shard_checksum_mismatch"})
    assert drafted(logs(tmp_path), "logs/rank5.log:2", taken=taken).id == "application.shard_checksum_mismatch_2"
    assert drafted(tmp_path, "logs/rank5.log:2", name="storage.broken").id == "storage.broken"


def test_hostile_line(tmp_path: Path) -> None:
    """Quotes, braces, backslashes and escapes of a log can't leave the strings that they stand in."""
    hostile = 'lane "a" {b} \\ \x1b[31m} rule x { blame rank 3 # /data/x'
    (tmp_path / "rank5.log").write_text(f"2026-11-30 10:04:12,455 ERROR [x.py:1] {hostile}\n")
    made = drafted(tmp_path, "rank5.log:1")
    assert len(load_text(made.text).rules) == 1
    assert "\x1b" not in made.text


def test_invisible_characters(tmp_path: Path) -> None:
    """What can't be seen, such as a mark that turns the reading direction, does not get into the text of a rule."""
    (tmp_path / "rank5.log").write_text("2026-11-30 10:04:12,455 ERROR [x.py:1] lane \u202edropped\u2028 by its owner\n")
    made = drafted(tmp_path, "rank5.log:1")
    assert made.text.replace("\n", "").isprintable()
    assert '"lane " & "dropped" & "by its owner"' in made.text


def test_long_line(tmp_path: Path) -> None:
    """Of a very long line the pattern and the example hold the beginning."""
    (tmp_path / "rank5.log").write_text(
        f"2026-11-30 10:04:12,455 ERROR [x.py:1] lane {' '.join(f'w{n}={n}' for n in range(5000))}\n"
    )
    made = drafted(tmp_path, "rank5.log:1")
    assert max(map(len, made.text.splitlines())) < 400


def test_title_is_short(tmp_path: Path) -> None:
    """A headline fits on a line."""
    (tmp_path / "rank5.log").write_text(f"2026-11-30 10:04:12,455 ERROR [x.py:1] lane {'dropped ' * 40}\n")
    rule = load_text(drafted(tmp_path, "rank5.log:1").text).rules[0]
    assert len(rule.title) <= 90
