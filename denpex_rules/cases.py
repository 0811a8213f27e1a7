"""Fixture cases: logs, and beside them in `case.toml` what must be said about them.

A case can't pass by accident: an unknown key, a case without logs and a case without an expectation are errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from attrs import evolve, frozen
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError
from cattrs.v import format_exception

from denpex_rules.clock import parse_duration, parse_time
from denpex_rules.engine import Options
from denpex_rules.errors import UsageError
from denpex_rules.finding import Suspect, Verdict
from denpex_rules.values import parse_host, parse_pci
from denpex_rules.wording import name_actor

CASE_FILE: Final = "case.toml"


@frozen
class Accused:
    """One expected (or forbidden) initiator; a part that is None is not compared."""

    rank: int | None = None
    host: str | None = None
    device: str | None = None
    certainty: Literal["certain", "likely"] | None = None

    def fits(self, suspect: Suspect) -> bool:
        """Whether all parts that are given are those of `suspect`; hosts and PCI addresses compare in canonical form."""
        return (
            self.rank in {None, suspect.rank}
            and (self.host is None or (suspect.host is not None and parse_host(self.host) == parse_host(suspect.host)))
            and (self.device is None or (suspect.device is not None and _device(self.device) == _device(suspect.device)))
            and self.certainty in {None, suspect.certainty}
        )

    def label(self) -> str:
        """Return the accused in words."""
        name = name_actor(Suspect(self.rank, self.host, self.device, self.certainty or "undecided"))
        return name + (f" ({self.certainty})" if self.certainty else "")


def _device(text: str) -> str:
    return parse_pci(text) or text


@frozen
class Expected:
    """What `case.toml` says: what must, and what must not, be said about the logs.

    What is None is not compared. `rule` is None only where the outcome is quiet: then no rule may report anything. `first`
    is `file:line` of the first evidence, the file relative to the folder, and `evidence` those of all of it; `onset` is `lo/hi`,
    one instant, or `unknown`; `explains` are the rules or classes of all findings below the incident; `missing` are parts of the
    missing facts.
    """

    says: str
    outcome: Literal["confirmed", "inconclusive", "quiet"]
    rule: str | None = None
    verdict: Verdict | None = None
    initiators: tuple[Accused, ...] | None = None
    first: str | None = None
    evidence: tuple[str, ...] | None = None
    onset: str | None = None
    innocent: tuple[Accused, ...] = ()
    explains: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    year: int | None = None
    timezone: str | None = None
    skew: str | None = None

    @property
    def options(self) -> Options:
        """The scan options that the case asks for."""
        options = Options(year=self.year, timezone=self.timezone)
        skew = parse_duration(self.skew) if self.skew is not None else None
        return options if skew is None else evolve(options, skew_ns=skew)


@frozen
class Case:
    """One folder: its logs, and what is expected of them."""

    folder: Path
    logs: tuple[Path, ...]
    expected: Expected


# ------------------------------------------------------------------ reading cases


def find_cases(root: Path) -> list[Case]:
    """Return all cases at or below `root`, by path.

    Raises:
        UsageError: `root` does not exist or holds no case, or a case is malformed; all malformed ones are named.
    """
    if not root.is_dir():
        raise UsageError(f"no such folder of cases: {root}")
    cases, problems = [], []
    for path in sorted(root.rglob(CASE_FILE)):
        try:
            cases.append(read_case(path.parent))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    if not cases:
        raise UsageError(f"no {CASE_FILE} in {root}")
    return cases


def read_case(folder: Path) -> Case:
    """Return the case in `folder`.

    Raises:
        UsageError: its `case.toml` is malformed, or there are no logs beside it.
    """
    path = folder / CASE_FILE
    try:
        expected = _CONVERTER.structure(tomllib.loads(path.read_text(encoding="utf-8")), Expected)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
    except BaseValidationError as error:
        raise UsageError(f"{path}: {'; '.join(transform_error(error, path='case', format_exception=_say))}") from error
    logs = tuple(sorted(p for p in folder.rglob("*") if p.is_file() and p != path and not p.name.startswith(".")))
    problems = list(_problems(expected))
    if not logs:
        problems.append("no log stands beside it")
    if any(log.name == CASE_FILE for log in logs):
        problems.append("another case stands inside it")
    if problems:
        raise UsageError("\n".join(f"{path}: {problem}" for problem in problems))
    return Case(folder, logs, expected)


def _strict(value: object, kind: type) -> Any:
    """Refuse a value of another type: `rank = "5"` is a mistake of the author, not a number."""
    if type(value) is not kind:
        raise TypeError(f"expected {_KINDS[kind]}, not {value!r}")
    return value


_KINDS: Final = {str: "a text", int: "a whole number"}


def _make_converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    for kind in _KINDS:
        converter.register_structure_hook(kind, _strict)
    return converter


_CONVERTER: Final = _make_converter()


def _say(error: BaseException, kind: type | None) -> str:
    """Return one mistake of a `case.toml` in words."""
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown key {', '.join(sorted(error.extra_fields))}"
    if isinstance(error, KeyError):
        return "missing"
    return str(error) if error.args else format_exception(error, kind)


def _problems(expected: Expected) -> Iterator[str]:
    """Give what is wrong with a case beyond the types of its keys."""
    keys = ("initiators", "first", "evidence", "onset", "explains", "missing")
    pinned = [key for key in keys if getattr(expected, key) is not None]
    if expected.outcome == "quiet" and pinned:
        yield f"outcome is quiet, so {', '.join(pinned)} can't be compared with anything"
    if expected.outcome != "quiet" and expected.rule is None:
        yield f"outcome is {expected.outcome}, but no rule is named"
    if any(a.rank is None and a.host is None and a.device is None for a in (*expected.innocent, *(expected.initiators or ()))):
        yield "an initiator or innocent without rank, host and device fits everybody"
    if expected.skew is not None and parse_duration(expected.skew) is None:
        yield f"skew is no duration with a unit: {expected.skew!r}"
    if expected.onset is not None:
        try:
            parse_onset(expected.onset)
        except ValueError as error:
            yield f"onset: {error}"


def parse_onset(text: str) -> tuple[int, int] | None:
    """Return `lo/hi` or one instant in ns UTC, None for `unknown`. Raises ValueError."""
    if text == "unknown":
        return None
    lo, _, hi = text.partition("/")
    return parse_time(lo), parse_time(hi or lo)
