"""A draft on disk: its rule, its cases and their logs, each tried before it stays. What fails leaves nothing behind."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import field, frozen

from denpex_rules import engine, gather
from denpex_rules.cases import CASE_FILE, read_case
from denpex_rules.draft import Draft
from denpex_rules.errors import Diagnostic, UsageError
from denpex_rules.finding import Incident, Report, Suspect
from denpex_rules.fixtures import run_case
from denpex_rules.layout import format_text
from denpex_rules.library import SUFFIX
from denpex_rules.program import Program
from denpex_rules.project import OWN_FILE, find_project

HIT: Final = "hit"
NEAR_MISS: Final = "near_miss"

_DRAFT: Final = re.compile(r"^\s*status\s+draft\b", re.MULTILINE)


@frozen
class Home:
    """The folders that a draft goes to; `fresh` is the project file to write where the folder has none, else None."""

    rules: Path
    cases: Path
    fresh: Path | None = None

    def rule(self, name: str) -> Path:
        """Return the file of a rule."""
        return self.rules.joinpath(*name.split(".")).with_suffix(SUFFIX)

    def case(self, name: str, case: str) -> Path:
        """Return the folder of a rule's case."""
        return self.cases.joinpath(*name.split("."), case)

    def taken(self) -> frozenset[str]:
        """Return the paths of the rules that are there."""
        files = self.rules.rglob(f"*{SUFFIX}") if self.rules.is_dir() else ()
        return frozenset(".".join(path.relative_to(self.rules).with_suffix("").parts) for path in files)


def home(folder: Path) -> Home:
    """Return where drafts go in a folder: to its project's first rules and cases, else to `rules` and `cases` in it.

    Raises:
        UsageError: the folder's project file is wrong.
    """
    project = find_project(folder)
    rules = next((p for p in (project.rules if project else ()) if p.is_dir()), folder / "rules")
    cases = next((p for p in (project.cases if project else ()) if p.is_dir()), folder / "cases")
    return Home(rules, cases, folder / OWN_FILE if project is None else None)


@frozen
class Filed:
    """What was written: the files and case folders, the advice that `check` gives, and how the case that hits came out."""

    rule: Path
    cases: tuple[Path, ...]
    fresh: Path | None
    advice: tuple[Diagnostic, ...]
    incident: Incident = field(repr=False)


def put(draft: Draft, to: Home, logs: Mapping[str, bytes], near: Mapping[str, bytes], *, again: bool = False) -> Filed:
    """Write a draft with its cases, and prove that it passes `check` and `test`.

    Args:
        draft: the rule.
        to: the folders.
        logs: by name, the logs that it was drafted from.
        near: by name, healthy logs that it must stay quiet on; none for no such case.
        again: replace a rule of that path that is still a draft, and its two cases.

    Raises:
        UsageError: a file is there already, or the draft does not pass on these logs.
        RuleError: the rule has mistakes: its class, for one.
    """
    rule, hit, miss = to.rule(draft.id), to.case(draft.id, HIT), to.case(draft.id, NEAR_MISS)
    folders = (hit, miss) if near else (hit,)
    for path in (rule, *folders):
        if path.exists() and not again:
            raise UsageError(f"{path} exists already; name the rule with --id, or replace a draft with --again")
    if rule.exists() and not _DRAFT.search(rule.read_text(encoding="utf-8", errors="replace")):
        raise UsageError(f"{rule} is no draft any more: --again replaces nothing but drafts")
    with _aside([rule, hit, miss]), _undone([rule, *folders]):
        _write(rule, format_text(draft.text).encode())
        count, advice = gather.check([rule])
        if count is None or any(d.severity == "error" for d in advice):
            raise UsageError("\n\n".join(d.render() for d in advice))
        program = gather.compile_named([rule], pack=True)
        incident = _hit(draft, hit, logs, program)
        if near:
            _near(draft, miss, near, program)
    fresh = to.fresh
    if fresh is not None:
        names = [json.dumps(path.relative_to(fresh.parent).as_posix()) for path in (to.rules, to.cases)]
        _write(fresh, f"rules = [{names[0]}]\ncases = [{names[1]}]\n".encode())
    return Filed(rule, folders, fresh, advice, incident)


# ------------------------------------------------------------------ cases


def _hit(draft: Draft, folder: Path, logs: Mapping[str, bytes], program: Program) -> Incident:
    for name, data in logs.items():
        _write(folder / name, data)
    report = engine.scan(sorted(path for path in folder.rglob("*") if path.is_file()), program)
    found = next((i for i in _all(report.incidents) if i.rule.endswith(f":{draft.id}")), None)
    if found is None or found.outcome != "confirmed":
        raise UsageError(f"the draft of {draft.id} does not recognise its own lines: {_brief(report)}")
    _prove(folder, _case(draft, folder, found), program)
    return found


def _near(draft: Draft, folder: Path, logs: Mapping[str, bytes], program: Program) -> None:
    for name, data in logs.items():
        _write(folder / name, data)
    says = {"says": "looks like it, and the rule must stay quiet", "rule": draft.id, "outcome": "quiet"}
    _prove(folder, _toml(says), program)


def _prove(folder: Path, text: str, program: Program) -> None:
    _write(folder / CASE_FILE, text.encode())
    result = run_case(read_case(folder), program)
    if not result.passed:
        raise UsageError(f"the draft does not pass its case: {'; '.join(result.differences)}")


def _case(draft: Draft, folder: Path, found: Incident) -> str:
    first = found.evidence[0]
    source = Path(first.source)
    inside = source.relative_to(folder).as_posix() if source.is_relative_to(folder) else source.as_posix()
    return _toml(
        {
            "says": f"the lines that the rule was drafted from: {found.title}",
            "rule": draft.id,
            "outcome": "confirmed",
            "initiators": [_accused(suspect) for suspect in found.initiators],
            "first": f"{inside}:{first.line}",
            **({"innocent": [{"rank": rank} for rank in draft.innocent]} if draft.innocent else {}),
        }
    )


def _accused(suspect: Suspect) -> dict[str, str | int]:
    parts = {"rank": suspect.rank, "host": suspect.host, "device": suspect.device, "certainty": suspect.certainty}
    return {name: value for name, value in parts.items() if value is not None}


def _all(incidents: Sequence[Incident]) -> Iterator[Incident]:
    for incident in incidents:
        yield incident
        yield from _all(incident.explains)


def _brief(report: Report) -> str:
    return f"the report is {report.verdict}, with {', '.join(i.rule for i in report.incidents) or 'no incident'}"


# ------------------------------------------------------------------ files


def _toml(values: Mapping[str, object]) -> str:
    width = max(map(len, values))
    return "".join(f"{name:<{width}} = {_literal(value)}\n" for name, value in values.items())


def _literal(value: object) -> str:
    """Return a value as TOML writes it; a JSON string is a TOML string once DEL is escaped."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_literal(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@contextmanager
def _aside(paths: Sequence[Path]) -> Iterator[None]:
    """Move what exists out of the way, for good when what is done inside succeeds, else back."""
    with tempfile.TemporaryDirectory() as folder:
        moved = [(path, Path(folder) / str(number)) for number, path in enumerate(paths) if path.exists()]
        for path, kept in moved:
            shutil.move(path, kept)
        try:
            yield
        except BaseException:
            for path, kept in moved:
                shutil.move(kept, path)
            raise


@contextmanager
def _undone(paths: Sequence[Path]) -> Iterator[None]:
    """Remove paths that do not exist yet, and folders that were made for them, when what is done inside fails."""
    missing = [p for path in paths for p in (path, *path.parents) if not p.exists()]
    try:
        yield
    except BaseException:
        for path in sorted(set(missing), key=lambda p: len(p.parts), reverse=True):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        raise
