"""What rules add and lose over the logs of many jobs: incidents with them beside those without them, or a saved answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from cattrs import Converter
from cattrs.errors import BaseValidationError

from denpex_rules import engine, gather, library
from denpex_rules.cases import CASE_FILE
from denpex_rules.compiler import compile_rules
from denpex_rules.engine import Options
from denpex_rules.errors import UsageError
from denpex_rules.finding import Incident
from denpex_rules.plugins import capture_types
from denpex_rules.program import Program
from denpex_rules.rule import RuleSet
from denpex_rules.wording import name_actor

FORM: Final = "denpex-baseline/1"


@frozen
class Job:
    """The logs of one job: its name among all, and the paths to scan together."""

    name: str
    paths: tuple[Path, ...]


@frozen(order=True)
class Row:
    """One incident, or one finding below it, as far as it is compared.

    `place` is `file:line` of its first evidence, `under` the rule of the incident that explains it, "" for an incident.
    """

    rule: str
    place: str
    outcome: str
    blames: tuple[str, ...] = ()
    under: str = ""

    def text(self) -> str:
        """Return the row in words."""
        blames = "; ".join(self.blames) or "nobody blamed"
        below = f", explained by {self.under}" if self.under else ""
        return f"{self.rule} {self.outcome}, {blames}{below}"


@frozen
class Change:
    """What differs in one place of one job: `before` is None for what was added, `after` for what was lost."""

    job: str
    before: Row | None
    after: Row | None

    @property
    def kind(self) -> str:
        """One of added, lost, changed."""
        if self.before is None:
            return "added"
        return "changed" if self.after is not None else "lost"

    @property
    def row(self) -> Row:
        """The row as it is now, of what was lost as it was."""
        row = self.after or self.before
        assert row is not None
        return row


Answer = Mapping[str, tuple[Row, ...]]  # rows by job


# ------------------------------------------------------------------ jobs


def find_jobs(logs: Sequence[Path]) -> list[Job]:
    """Return the jobs that paths hold: of one folder each file and folder in it is a job, of several paths each one is.

    Raises:
        UsageError: a path does not exist, or there is no job.
    """
    for path in logs:
        if not path.exists():
            raise UsageError(f"no such file or folder: {path}")
    alone = len(logs) == 1 and logs[0].is_dir()
    entries = sorted(p for p in logs[0].iterdir() if not p.name.startswith(".") and p.name != CASE_FILE) if alone else logs
    jobs = [Job(path.name if alone else path.as_posix(), _logs(path)) for path in entries]
    jobs = [job for job in jobs if job.paths]
    if not jobs:
        raise UsageError(f"{logs[0]} is empty" if logs else "no logs are given")
    return jobs


def _logs(path: Path) -> tuple[Path, ...]:
    """Return what to scan of a job: of a case its logs, without what it says about them."""
    if path.is_file() or not any(path.rglob(CASE_FILE)):
        return (path,) if path.is_file() or any(path.iterdir()) else ()
    return tuple(sorted(p for p in path.rglob("*") if p.is_file() and p.name != CASE_FILE and not p.name.startswith(".")))


# ------------------------------------------------------------------ answers


def programs(rules: Sequence[str | Path], *, pack: bool) -> tuple[Program, Program]:
    """Return the program with rules, and the one without them.

    Without them is the shipped pack as it is; where a rule is of the shipped pack itself, the pack without it.

    Args:
        rules: rule files and folders, and `pack:path` of installed packs.
        pack: whether the shipped rules take part.

    Raises:
        UsageError: a path does not exist.
        RuleError: a rule has mistakes.
    """
    named = gather.load_rules(rules, pack=False)
    here = {str(Path(rule.span.path).resolve()) for rule in named.rules}
    others = library.load_pack() if pack else RuleSet((), named.events)
    left = tuple(rule for rule in others.rules if str(Path(rule.span.path).resolve()) not in here)
    before = compile_rules(RuleSet(left, others.events), types=capture_types())
    return gather.compile_named(rules, pack=pack), before


def answer(jobs: Iterable[Job], program: Program, options: Options) -> dict[str, tuple[Row, ...]]:
    """Return what a program finds in each job."""
    return {job.name: tuple(sorted(_rows(job, engine.scan(job.paths, program, options).incidents))) for job in jobs}


def _rows(job: Job, incidents: Iterable[Incident], under: str = "") -> Iterator[Row]:
    for incident in incidents:
        blames = tuple(f"{name_actor(s)} ({s.certainty})" for s in incident.initiators)
        yield Row(incident.rule, _place(job, incident), incident.outcome, blames, under)
        yield from _rows(job, incident.explains, under or incident.rule)


def _place(job: Job, incident: Incident) -> str:
    if not incident.evidence:
        return ""
    first = incident.evidence[0]
    folder = Path(job.name).name
    source = first.source
    _, found, inside = source.rpartition(f"{folder}/")
    return f"{inside if found else source}:{first.line}"


def compare(before: Answer, after: Answer) -> list[Change]:
    """Return what differs between two answers, job by job: a row of the same rule and place that reads otherwise has changed."""
    found: list[Change] = []
    for job in sorted({*before, *after}):
        old, new = list(before.get(job, ())), list(after.get(job, ()))
        for row in tuple(new):
            if row in old:
                old.remove(row)
                new.remove(row)
        for row in new:
            was = next((one for one in old if (one.rule, one.place) == (row.rule, row.place)), None)
            if was is not None:
                old.remove(was)
            found.append(Change(job, was, row))
        found += [Change(job, row, None) for row in old]
    return found


# ------------------------------------------------------------------ saved answers


def write_baseline(path: Path, saved: Answer) -> None:
    """Write an answer to a file, in a form that a version control system shows well."""
    jobs = {name: [_CONVERTER.unstructure(row) for row in rows] for name, rows in sorted(saved.items())}
    path.write_text(json.dumps({"format": FORM, "jobs": jobs}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_baseline(path: Path) -> dict[str, tuple[Row, ...]]:
    """Return a saved answer. Raises UsageError for a file that can't be read or is none."""
    try:
        saved: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(saved, dict) or saved.get("format") != FORM:
            raise UsageError(f"{path} is no baseline that this version reads: write one with --write-baseline")
        return _CONVERTER.structure(saved.get("jobs"), dict[str, tuple[Row, ...]])
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    except (BaseValidationError, AttributeError, TypeError) as error:
        raise UsageError(f"{path} is damaged: write it again with --write-baseline") from error


_CONVERTER: Final = Converter(forbid_extra_keys=True)
