"""The verb `new`: drafts a rule from log lines, or writes the template of a rule pack."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from attrs import evolve

from denpex_rules import console, excerpt, gather, generalise, starter, survey
from denpex_rules.draft import Draft, draft
from denpex_rules.errors import UsageError
from denpex_rules.excerpt import PASTED, Excerpt, Place, by_source, parse_place
from denpex_rules.filing import Filed, Home, home, put
from denpex_rules.likeness import Vocabulary
from denpex_rules.mistake import did_you_mean
from denpex_rules.page import Page
from denpex_rules.program import Program
from denpex_rules.rule import SEVERITIES
from denpex_rules.signals import Mark, Shipped, signals
from denpex_rules.sources import Source
from denpex_rules.wording import name_actor, plural

app: Final = typer.Typer(rich_markup_mode=None)

LIKE: Final = 0.5  # how much of the trigger's message a line of a healthy log has, to be its near miss
_Named = tuple[Source, tuple[Place, ...]]  # a log, and the places that are named in it

_SAID: Final = "L0130"  # the advice about a draft's class, which is said with why it has none
HEAD: Final = 200  # lines of a healthy log that are kept where none of them is like the trigger


@app.callback()
def group() -> None:
    """Make this a group of verbs, however few it has."""


@app.command(short_help="Draft a rule from log lines, or start a rule pack.")
def new(  # noqa: PLR0913 - one parameter an option
    more: Annotated[list[str] | None, typer.Argument(metavar="PLACE", help="Further places, as with --from.")] = None,
    *,
    places: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="LOG[:LINE[-LINE]]", help="Lines that tell the failure; - is standard input. Repeatable."),
    ] = None,
    healthy: Annotated[
        list[str] | None,
        typer.Option("--not", metavar="LOG[:LINE[-LINE]]", help="Healthy lines that look like it: the near miss. Repeatable."),
    ] = None,
    name: Annotated[str, typer.Option("--id", metavar="PATH", help="The rule's path, such as storage.broken_shard.")] = "",
    cls: Annotated[str, typer.Option("--class", metavar="CLASS", help="The root-cause class, instead of a proposed one.")] = "",
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where rules and cases go.")] = Path(),
    again: Annotated[bool, typer.Option("--again", help="Replace the rule of that path, while it is a draft.")] = False,
    pack: Annotated[Path | None, typer.Option("--pack", metavar="FOLDER", help="Write the template of a rule pack there.")] = None,
    pack_name: Annotated[str, typer.Option("--name", metavar="NAME", help="The pack's name; the folder's when left out.")] = "",
) -> None:
    """Draft a rule and its cases from lines of logs; without lines, from the earliest error that no shipped rule knows."""
    given = [*(places or ()), *(more or ())]
    if pack is not None:
        if given or healthy or name or cls:
            raise UsageError("--pack writes a template: leave out the options of a draft")
        console.show(_pack_page(pack, starter.write(pack, pack_name or pack.resolve().name)))
        return
    if pack_name:
        raise UsageError("--name is the name of a pack: it goes with --pack")
    if not given:
        raise UsageError("no lines: name some with --from LOG:LINE, or a log with --from LOG")
    if name and not all(part.isidentifier() and part == part.lower() for part in name.split(".")):
        raise UsageError(f"--id: {name!r} is no path; write lower-case names with dots between, such as storage.broken_shard")
    with _spooled([*map(parse_place, given)], [*map(parse_place, healthy or ())]) as (lines, sound):
        drafted, filed, to = _draft(lines, sound, name, cls, into, again=again)
    console.show(_page(drafted, filed, to, into))


def _draft(
    lines: Sequence[Place], sound: Sequence[Place], name: str, cls: str, into: Path, *, again: bool
) -> tuple[Draft, Filed, Home]:
    """Draft a rule from places, file it, and return both and where."""
    to = home(into)
    sources, calm = by_source(lines), by_source(sound)  # before the pack is loaded: most mistakes show here
    program = gather.compile_named((), pack=True)
    taxonomy = gather.taxonomy_of([to.rules])
    if cls and cls not in taxonomy:
        raise UsageError(
            f"--class: there is no class {cls}; {did_you_mean(cls, taxonomy.classes) or 'leave it out to have one proposed'}"
        )
    excerpts = _excerpts(sources, program)
    logs = _unique({one.name: one.data for one in excerpts}, excerpts)
    seen = survey.events_by_line(survey.survey_bytes(logs, program))
    marks = [
        Mark(log, one, seen.get((log, one.number), frozenset())) for log, e in zip(logs, excerpts, strict=True) for one in e.chosen
    ]
    marks = _telling(marks)
    shipped = Shipped(program, taxonomy, Vocabulary(taxonomy, program))
    trigger = signals(marks, shipped)[0].marks[0].record.message
    near, messages = _near(calm, trigger, {one.log for one in excerpts})
    drafted = draft(marks, shipped, healthy=messages, name=name, cls=cls, taken=frozenset() if again else to.taken())
    return drafted, put(drafted, to, logs, near, again=again), to


# ------------------------------------------------------------------ which lines


def _telling(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks without what merely lies in a chosen range: ordinary records between errors."""

    def level(mark: Mark) -> int:
        severity = mark.record.line.severity
        return SEVERITIES.index(severity) if severity else SEVERITIES.index("warning")

    if not any(level(mark) >= SEVERITIES.index("error") for mark in marks):
        return list(marks)
    return [mark for mark in marks if mark.record.alone or level(mark) >= SEVERITIES.index("warning")]


@contextmanager
def _spooled(*groups: list[Place]) -> Iterator[list[list[Place]]]:
    """Give the places with standard input read into a file, because it is read more than once."""
    if not any(place.log == "-" for places in groups for place in places):
        yield list(groups)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PASTED
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [[evolve(p, log=str(path)) if p.log == "-" else p for p in places] for places in groups]


def _excerpts(sources: Sequence[_Named], program: Program) -> list[Excerpt]:
    """Return the excerpts of places; where whole logs are named, around the earliest error that no rule knows."""
    whole = [source for source, inside in sources if not all(place.first for place in inside)]
    found: dict[str, list[Place]] = {source.name: [p for p in inside if p.first] for source, inside in sources}
    if whole:
        scan = survey.survey(whole, program)
        errors = survey.unknown_errors(scan, program)
        if not errors and not any(found.values()):
            raise UsageError(_why_none(scan.errors != (), whole))
        for log, line in (*((e.emitter.source, e.line) for e in errors), *survey.symptoms(scan, program)):
            found[log].append(Place(log, line, line))
    return [excerpt.read(source, found[source.name]) for source, _ in sources if found[source.name]]


def _why_none(errors: bool, logs: Sequence[Source]) -> str:
    names = ", ".join(source.name for source in logs[:3]) + (" …" if len(logs) > 3 else "")
    if errors:
        return f"shipped rules know every error in {names}; to draft from one all the same, name it as LOG:LINE"
    return f"there is no error in {names} to draft from: name the lines that tell the failure as LOG:LINE"


def _unique(logs: Mapping[str, bytes], excerpts: Sequence[Excerpt]) -> dict[str, bytes]:
    """Return the logs by name; where two have one name, each in a folder of its own."""
    if len(logs) == len(excerpts):
        return dict(logs)
    return {f"log{n}/{one.name}": one.data for n, one in enumerate(excerpts, 1)}


def _near(sources: Sequence[_Named], trigger: str, failing: set[str]) -> tuple[dict[str, bytes], list[str]]:
    """Return the logs of the near miss, and the healthy messages in them: of a whole log the one most like the trigger."""
    excerpts: list[Excerpt] = []
    whole: dict[str, bytes] = {}
    for source, inside in sources:
        lines = [place for place in inside if place.first]
        if not lines:
            words = generalise.words(generalise.parts(trigger))
            number = survey.nearest_line(source, trigger, words, LIKE)
            lines = [Place(source.name, number, number)] if number else []
        if lines:  # of the failing log itself nothing but the healthy lines
            excerpts.append(excerpt.read(source, lines, around=0 if source.name in failing else excerpt.AROUND))
        else:
            whole[Path(source.name).name] = excerpt.head(source, HEAD)
    logs = {**_unique({one.name: one.data for one in excerpts}, excerpts), **whole}
    return logs, [one.message for e in excerpts for one in e.chosen]


# ------------------------------------------------------------------ what is said about it


def _page(drafted: Draft, filed: Filed, to: Home, into: Path) -> Page:
    page = Page()
    page.add(f"{filed.rule}", lead="drafted ", style="bold", wrap=False)
    page.blank()
    for line in filed.rule.read_text(encoding="utf-8").splitlines():
        page.add(line, indent=2, wrap=False)
    page.blank()
    for path in filed.cases:
        count = len([p for p in path.rglob("*") if p.is_file()]) - 1
        page.add(f"{path}  {plural(count, 'log')}, passes", lead="case    ", wrap=False)
    suspects = "; ".join(f"{name_actor(s)} ({s.certainty})" for s in filed.incident.initiators) or "nobody"
    page.add(suspects, lead="blames  ")
    page.blank()
    notes = (*drafted.notes, *(f"{d.message}{f' ({d.hint})' if d.hint else ''}" for d in filed.advice if d.code != _SAID))
    page.add("what was inferred, and what is left to say:", style="bold")
    page.items(notes, indent=2)
    page.blank()
    page.add("next:", style="bold")
    for line in _next(drafted, filed, to, into):
        page.add(line, lead="- ", indent=2, wrap=False)
    return page


def _next(drafted: Draft, filed: Filed, to: Home, into: Path) -> tuple[str, ...]:
    """Return the commands that go on from here."""
    here = into.resolve() == Path.cwd()
    if here:
        both = "rulecheck    (checks the rules and runs the cases of this folder)"
    else:
        both = f"rulecheck test {to.cases} --rules {to.rules}"
    explain = f"rulecheck explain {drafted.id} {filed.cases[0]} --rules {to.rules}"
    more = (
        ()
        if len(filed.cases) > 1
        else ("a near miss: the same command with --again --not LOG:LINE, for a line that looks like it and is harmless",)
    )
    return (both, explain, *more)


def _pack_page(folder: Path, written: Sequence[Path]) -> Page:
    page = Page()
    page.add(f"{folder}: the template of a rule pack, {plural(len(written), 'file')}", style="bold")
    for path in written:
        page.add(path.relative_to(folder).as_posix(), indent=2, wrap=False)
    page.blank()
    page.add("next:", style="bold")
    page.items((f"cd {folder} && rulecheck", "pip install -e . && pytest"), indent=2)
    return page
