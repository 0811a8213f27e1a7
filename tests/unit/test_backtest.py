"""What rules add and lose: jobs of a folder, rows of a report, differences, and saved answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from drafting import HEALTHY, LOGS, load_once

from denpex_rules import backtest, gather
from denpex_rules.backtest import Change, Row, compare, find_jobs
from denpex_rules.engine import Options
from denpex_rules.errors import UsageError
from denpex_rules.shipped import shipped
from samples import write_files

ROW = Row("denpex:a.b", "x.log:3", "confirmed", ("rank 5 (certain)",))
RULE = """\
language 1
use lib.c10d.timeout
rule storage.broken_shard {
  title  "A rank gave up on a broken shard"
  class  data.worker_exception
  causes collective.timeout
  event broken error in rank "shard {file:path}: checksum mismatch, giving up"
  per job within 1h
  require broken
  confirm timeout where rank != broken.rank stalled between broken - 1m and broken + 1m
  blame rank broken.rank
}
"""


@pytest.fixture(autouse=True)
def _pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the shipped pack once for all tests."""
    load_once(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three jobs (one of them a case, one a single file), and a rule about one of them."""
    jobs = {f"logs/failed/{name}": text for name, text in LOGS.items()}
    case = {"logs/proof/case.toml": 'says = "x"\noutcome = "quiet"\n', "logs/proof/rank5.log": HEALTHY, "logs/.hidden": "x"}
    return write_files(tmp_path, {**jobs, **case, "logs/single.log": HEALTHY, "my/storage/broken_shard.rule": RULE})


def test_jobs(folder: Path) -> None:
    """Of one folder each file and folder is a job; of several paths each one is; what a case says is no log."""
    jobs = find_jobs([folder / "logs"])
    assert [job.name for job in jobs] == ["failed", "proof", "single.log"]
    assert [path.name for path in jobs[1].paths] == ["rank5.log"]
    assert [job.name for job in find_jobs([folder / "logs" / "failed", folder / "logs" / "single.log"])] == [
        (folder / "logs" / "failed").as_posix(),
        (folder / "logs" / "single.log").as_posix(),
    ]
    assert [job.name for job in find_jobs([folder / "logs" / "single.log"])] == [(folder / "logs" / "single.log").as_posix()]


def test_no_jobs(tmp_path: Path) -> None:
    """A path that is not there and an empty folder are refused."""
    with pytest.raises(UsageError, match="no such file"):
        find_jobs([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="is empty"):
        find_jobs([tmp_path])


def test_added_and_changed(folder: Path) -> None:
    """A new rule adds its incident, by file and line, and what it explains is no incident of its own any more."""
    after, before = backtest.programs([folder / "my"], pack=True)
    jobs = find_jobs([folder / "logs"])
    changes = compare(backtest.answer(jobs, before, Options()), backtest.answer(jobs, after, Options()))
    assert [(c.job, c.kind, c.row.rule, c.row.place, c.row.under) for c in changes] == [
        ("failed", "changed", "denpex:runtime.collective.timeout", "rank0.log:2", "denpex:storage.broken_shard"),
        ("failed", "added", "denpex:storage.broken_shard", "rank5.log:2", ""),
    ]
    assert changes[1].row.text() == "denpex:storage.broken_shard confirmed, rank 5 (certain)"


def test_without_rules_of_the_pack_itself() -> None:
    """Rules of the shipped pack are compared with the pack without them, others with the pack as it is."""
    file = shipped("rules") / "storage" / "full.rule"
    after, before = backtest.programs([file], pack=True)
    assert {rule.id for rule in after.rules} - {rule.id for rule in before.rules} == {"storage.full"}
    after, before = backtest.programs([file], pack=False)
    assert ([rule.id for rule in after.rules], before.rules) == (["storage.full"], ())


def test_changed_rule_of_the_same_path(folder: Path) -> None:
    """A rule that replaces a shipped one is compared with the shipped one."""
    text = RULE.replace("storage.broken_shard", "storage.full")
    write_files(folder, {"mine/storage/full.rule": text})
    after, before = backtest.programs([folder / "mine"], pack=True)
    assert {rule.id for rule in after.rules} == {rule.id for rule in before.rules}
    assert after.rules != before.rules


def test_compare() -> None:
    """Equal rows cancel out; a row of the same rule and place that reads otherwise has changed; the rest is added or lost."""
    other = Row("denpex:a.b", "x.log:3", "inconclusive")
    lost = Row("denpex:c.d", "y.log:1", "confirmed")
    assert compare({"j": (ROW, ROW)}, {"j": (ROW, ROW)}) == []
    assert compare({"j": (ROW, ROW)}, {"j": (ROW,)}) == [Change("j", ROW, None)]
    assert compare({"j": (other, lost)}, {"j": (ROW,), "k": (lost,)}) == [
        Change("j", other, ROW),
        Change("j", lost, None),
        Change("k", None, lost),
    ]
    assert [c.kind for c in compare({"j": (other, lost)}, {"j": (ROW,), "k": (lost,)})] == ["changed", "lost", "added"]


def test_saved_answer(folder: Path) -> None:
    """A saved answer is read back as it was."""
    jobs = find_jobs([folder / "logs"])
    found = backtest.answer(jobs, gather.compile_named([folder / "my"], pack=True), Options())
    backtest.write_baseline(folder / "b.json", found)
    assert backtest.read_baseline(folder / "b.json") == found
    assert sum(map(len, found.values())) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "no baseline"),
        ('{"format": "denpex-baseline/9", "jobs": {}}', "no baseline"),
        ('{"format": "denpex-baseline/1"}', "damaged"),
        ('{"format": "denpex-baseline/1", "jobs": {"j": [{"rule": "x"}]}}', "damaged"),
        ('{"format": "denpex-baseline/1", "jobs": [3]}', "damaged"),
    ],
)
def test_damaged_baseline(tmp_path: Path, text: str, said: str) -> None:
    """A file that is no baseline is refused in a sentence."""
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        backtest.read_baseline(tmp_path / "b.json")
    with pytest.raises(UsageError, match="No such file"):
        backtest.read_baseline(tmp_path / "nowhere.json")
