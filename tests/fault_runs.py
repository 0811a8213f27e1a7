"""Recorded runs of real jobs that were broken on purpose: their logs as somebody might have kept them, the truth, the judgement."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, Literal

from attrs import frozen

from denpex_rules import Program, Report, correlate
from denpex_rules.finding import Incident
from denpex_rules.places import hints_for
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Scan

Verdict = Literal["right", "wrong certain", "wrong likely", "undecided"]
VERDICTS: Final[tuple[Verdict, ...]] = ("right", "wrong certain", "wrong likely", "undecided")
VIEWS: Final = ("all", "shuffled", "console", "ranks", "merged", "one file")
GRAVE: Final = {"failure", "stop"}


@frozen
class Truth:
    """What the injector knows of a run.

    Args:
        expect: whom the logs should hold responsible: `rank`, `all` (every rank failed by itself), `nobody` (somebody ended the
            job), `agent` (a launcher was killed, and no rank failed), `recovered` (the victim or nobody: the job went on),
            `healthy`.
        victims: the ranks that were struck, earliest first.
        classes: patterns of classes that the first incident may have.
        root_cause: the rank of torchrun's earliest "Root Cause" block, None where there is none.
        struck: whether the fault came and the job ended of it: else the run is spoiled.
    """

    expect: str
    victims: tuple[int, ...]
    classes: tuple[str, ...]
    root_cause: int | None
    struck: bool = True


@frozen
class Run:
    """One recorded run: its logs by relative path."""

    fault: str
    launcher: str
    seed: int
    truth: Truth
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """The run's name."""
        return f"{self.fault}-{self.launcher}-{self.seed}"


@frozen
class Answer:
    """How a report was judged. `classed`: the first incident's class is acceptable. `silent`: nothing was found.

    `names_fact`: a log of a rank or of the launcher that was not read is named as missing, or, where nothing was found and the end
    is open, as unread.
    """

    verdict: Verdict
    said: str
    classed: bool
    silent: bool
    names_fact: bool


def load(folder: Path) -> Run:
    """Read a run: its `truth.json` or `truth.toml`, and all logs."""
    recorded = folder / "truth.json"
    fields: dict[str, Any] = (
        json.loads(recorded.read_text()) if recorded.exists() else tomllib.loads((folder / "truth.toml").read_text())
    )
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.log"))
    files = {name: (folder / name).read_bytes() for name in names}
    truth = Truth(
        fields["expect"],
        tuple(dict.fromkeys(victim["rank"] for victim in fields["victims"])),
        tuple(fields["classes"]),
        fields.get("torchrun_root_cause_rank"),
        _struck(fields),
    )
    return Run(fields["fault"], fields["launcher"], fields["seed"], truth, files)


def _struck(fields: Mapping[str, Any]) -> bool:
    if fields.get("instant") is None:
        return False
    return fields["expect"] not in {"rank", "all"} or (any(fields["exit_codes"]) and not fields.get("overdue"))


# ------------------------------------------------------------------ what somebody might have kept


def views(run: Run) -> Iterator[tuple[str, Sequence[tuple[str, bytes]]]]:
    """Yield each view's name and its files in the order in which they are read; `one file` comes once for each file."""
    files = list(run.files.items())
    mixed = random.Random(run.name).sample(files, len(files))
    yield "all", files
    yield "shuffled", mixed
    yield "console", [(name, data) for name, data in files if name.endswith("console.log")]
    ranks = [(name, data) for name, data in files if not name.endswith("console.log")]
    if ranks:
        yield "ranks", ranks
    yield "merged", [("collected.log", b"".join(data if data.endswith(b"\n") else data + b"\n" for _, data in mixed))]
    for name, data in files:
        if data:
            yield "one file", [(name, data)]


def read(files: Sequence[tuple[str, bytes]], program: Program) -> Report:
    """Return the report of files, read in their order."""
    whole = Scan()
    for name, data in files:
        scanner = SourceScanner(program, name, hints_for(name))
        scanner.feed(data)
        whole = whole.merge(scanner.close())
    return correlate(whole, program)


# ------------------------------------------------------------------ the judgement


def judge(report: Report, truth: Truth) -> Answer:
    """Return the judgement of a report."""
    grave = [incident for incident in report.incidents if incident.level in GRAVE]
    named = accused(grave)
    verdict = _verdict(report, grave, named, truth)
    said = f"{report.verdict}: " + (", ".join(f"rank {rank} {certainty}" for rank, certainty in named.items()) or "nobody")
    said += "".join(f" [{incident.cls} {incident.rule}]" for incident in grave[:3])
    return Answer(verdict, said, _classed(grave, truth), not report.incidents, _names_fact(report))


def accused(incidents: Sequence[Incident]) -> dict[int, str]:
    """Return the ranks that root incidents name, each with the greatest certainty."""
    named: dict[int, str] = {}
    for suspect in (suspect for incident in incidents for suspect in incident.initiators):
        if suspect.rank is not None and named.get(suspect.rank) != "certain":
            named[suspect.rank] = suspect.certainty
    return named


def innocent(named: Mapping[int, str], truth: Truth) -> list[int]:
    """Return the ranks that are named though they did not fail first.

    Where all failed by themselves, any of them may be named as likely; as certain the earliest must be among them.
    """
    if truth.expect == "all":
        sure = {rank for rank, certainty in named.items() if certainty == "certain"}
        return sorted(sure) if sure and truth.victims[0] not in sure else sorted(set(named) - set(truth.victims))
    guilty = set(truth.victims) if truth.expect in {"rank", "recovered"} else set()
    return sorted(set(named) - guilty)


def _verdict(report: Report, grave: Sequence[Incident], named: Mapping[int, str], truth: Truth) -> Verdict:
    wrong = innocent(named, truth)
    if wrong:
        return "wrong certain" if any(named[rank] == "certain" for rank in wrong) else "wrong likely"
    confirmed = [incident for incident in grave if incident.outcome == "confirmed"]
    if truth.expect == "healthy":
        return "wrong likely" if confirmed else "right" if report.verdict == "healthy" else "undecided"
    right = {
        "rank": bool(named),
        "all": any(incident.level == "failure" for incident in confirmed) and _classed(grave, truth),
        "nobody": report.verdict == "stopped",
        "agent": True,
        "recovered": True,
    }
    return "right" if right[truth.expect] else "undecided"


def _classed(grave: Sequence[Incident], truth: Truth) -> bool:
    return bool(grave) and any(fnmatch(grave[0].cls, pattern) for pattern in truth.classes)


def _names_fact(report: Report) -> bool:
    wanted = ("the logs of the other ranks", "the agent log", "the log of rank ")
    facts = [fact for incident in report.incidents for fact in incident.missing]
    facts += report.ending.missing if report.ending is not None else ()
    left_open = report.ending is not None and report.ending.state != "ended"
    return any(fact.fact.startswith(wanted) for fact in facts) or (left_open and report.coverage.unread_count > 0)


def judge_launcher(truth: Truth) -> Verdict:
    """Return the judgement of torchrun's own "Root Cause": it names a rank without a doubt, or nobody."""
    if truth.root_cause is None:
        return "right" if truth.expect in {"nobody", "agent", "healthy", "recovered"} else "undecided"
    return "wrong certain" if innocent({truth.root_cause: "likely"}, truth) else "right"
