"""The verbs that read logs: `scan`, `correlate`, `explain`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from attrs import evolve

from denpex_rules import console, engine, schema
from denpex_rules.backend import checked
from denpex_rules.clock import parse_duration
from denpex_rules.engine import Options
from denpex_rules.errors import UsageError
from denpex_rules.finding import Incident, Report
from denpex_rules.logformats import LogFormatOption, with_formats
from denpex_rules.program import Program
from denpex_rules.progress import Meter
from denpex_rules.render import explanation_page, find_renderer, report_page
from denpex_rules.selection import Form, FormOption, PackOption, ProgramOption, RulesOption, find_rule, scan_program
from denpex_rules.sighting import Emitter, Scan
from denpex_rules.values import parse_host

app: Final = typer.Typer(rich_markup_mode=None)

LogsArgument = Annotated[list[Path], typer.Argument(metavar="LOGS", help="Log files and folders.")]
YearOption = Annotated[int | None, typer.Option(min=1970, max=2100, help="Year of stamps that have none.")]
ZoneOption = Annotated[str | None, typer.Option(metavar="ZONE", help="Zone of stamps that have none, such as Europe/Berlin.")]
SkewOption = Annotated[str, typer.Option(metavar="DURATION", help="How far the clocks of two hosts may differ.")]
OffsetOption = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST=DURATION", help="By how much a host's clock is ahead (-90s: behind); may be given more than once."),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", min=0, metavar="N", help="How many processes read; 0: as many as are worth it.", show_default=False)
]
BackendOption = Annotated[
    str,
    typer.Option("--backend", metavar="NAME", help="What finds the literals: auto, pyahocorasick, hyperscan.", show_default=False),
]
FormatOption = Annotated[str, typer.Option("--format", metavar="NAME", help="text, json, jsonl, or the name of a plug-in.")]
JobOption = Annotated[str | None, typer.Option(metavar="ID", help="The job that these logs are of, where they don't say it.")]

# What a scan of finished logs needs none of: each is imported when it is asked for.
_FOLLOW: Final = "denpex_rules.commands_follow"
_SCANFILE: Final = "denpex_rules.scanfile"
_DOSSIER: Final = "denpex_rules.dossier"

QUIET: Final = frozenset({"healthy", "no_data"})  # verdicts that exit with 0


def read_options(
    skew: str,
    year: int | None = None,
    timezone: str | None = None,
    job: str | None = None,
    offsets: Sequence[str] | None = None,
) -> Options:
    """Return the options of a scan. Raises UsageError for a skew or an offset that is no duration."""
    skew_ns = parse_duration(skew)
    if skew_ns is None:
        raise UsageError(f"--skew: {skew!r} is no duration; write it with its unit, such as 5s")
    return Options(year=year, timezone=timezone, skew_ns=skew_ns, job=job, offsets=read_offsets(offsets or ()))


def read_offsets(texts: Sequence[str]) -> dict[str, int]:
    """Return by how many ns the clocks of hosts are ahead. Raises UsageError for what is not `HOST=DURATION`."""
    offsets: dict[str, int] = {}
    for text in texts:
        name, _, duration = text.partition("=")
        host, ns = parse_host(name.strip()), parse_duration(duration.removeprefix("-").removeprefix("+"))
        if not host or ns is None:
            raise UsageError(f"--offset: {text!r} is not HOST=DURATION, such as node-07=-90s")
        offsets[host] = -ns if duration.startswith("-") else ns
    return offsets


def finish(report: Report, form: str, *, coverage: bool) -> None:
    """Write a report and exit: 0 where nothing was found, else 1."""
    if form == "text":
        console.show(report_page(report, coverage=coverage))
    else:
        console.write(find_renderer(form)(report))
    raise typer.Exit(0 if report.verdict in QUIET else 1)


@app.command(short_help="Say what failed, who failed first, and why.")
def scan(  # noqa: PLR0913 - one parameter an option
    logs: LogsArgument,
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    year: YearOption = None,
    timezone: ZoneOption = None,
    skew: SkewOption = "5s",
    job: JobOption = None,
    log_format: LogFormatOption = None,
    coverage: Annotated[bool, typer.Option("--coverage", help="Show all that was read, and every gap in it.")] = False,
    write_sightings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also save what was sighted, for `rulecheck correlate`."),
    ] = None,
    offset: OffsetOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on while the logs grow; incidents are shown as they come.")] = False,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --follow: where to keep what a later run goes on from.")
    ] = None,
    poll: Annotated[str, typer.Option(metavar="DURATION", help="With --follow: how often to look.")] = "1s",
    until_idle: Annotated[
        str | None, typer.Option(metavar="DURATION", help="With --follow: end when nothing was written for so long.")
    ] = None,
    jobs: JobsOption = 0,
    backend: BackendOption = "auto",
    form: FormatOption = "text",
) -> None:
    """Read the logs of a failed job: who failed first, since when, by which lines, and what is missing."""
    find_renderer(form)  # an unknown format is refused before, not after, a long scan
    options = evolve(read_options(skew, year, timezone, job, offset), coverage=coverage)
    options = with_formats(options, log_format, Path())
    following: Any = import_module(_FOLLOW) if follow else None
    pace = following.read_pace(poll, until_idle, state) if follow else None
    if not follow and (state is not None or until_idle is not None):
        raise UsageError("--state and --until-idle go with --follow")
    if follow and (form not in following.FORMS or write_sightings is not None):
        raise UsageError("--follow writes text or jsonl, and no sightings")
    compiled = evolve(scan_program(rules, program, pack=pack), backend=checked(backend))
    if follow:
        give = following.give_text if form == "text" else following.give_lines
        finish(following.follow(logs, compiled, options, pace, give), form, coverage=coverage)
    with Meter() as meter:
        sighted = engine.sight(logs, compiled, options, jobs=jobs, on_read=meter)
    if write_sightings is not None:
        import_module(_SCANFILE).save_scan(sighted, write_sightings)
    finish(engine.correlate(sighted, compiled, options), form, coverage=coverage)


@app.command(short_help="Merge what several scans sighted.")
def correlate(  # noqa: PLR0913
    sightings: Annotated[list[Path], typer.Argument(metavar="SIGHTINGS", help="Files that `scan --write-sightings` wrote.")],
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    skew: SkewOption = "5s",
    job: JobOption = None,
    offset: OffsetOption = None,
    coverage: Annotated[bool, typer.Option("--coverage", help="Show all that was read, and every gap in it.")] = False,
    form: FormatOption = "text",
) -> None:
    """Merge what several scans sighted, each where its logs are, into one report; use the same rules as they did."""
    find_renderer(form)
    options = evolve(read_options(skew, job=job, offsets=offset), coverage=coverage)
    compiled = scan_program(rules, program, pack=pack)
    load_scan = import_module(_SCANFILE).load_scan
    merged = merge_scans({str(path): load_scan(path) for path in sightings})
    finish(engine.correlate(merged, compiled, options), form, coverage=coverage)


def merge_scans(scans: Mapping[str, Scan]) -> Scan:
    """Return the union of scans by name.

    Two hosts both have a `kern.log`. Where scans share a source's name, every source is called `scan:source`: taken for one
    file, the order of its lines would prove what nothing proves.
    """
    names = Counter(name for one in scans.values() for name in {source.source for source in one.sources})
    shared = any(count > 1 for count in names.values())
    merged = Scan()
    for name, one in scans.items():
        merged = merged.merge(_renamed(one, f"{name}:") if shared else one)
    return merged


def _renamed(scan: Scan, prefix: str) -> Scan:
    def emitter(old: Emitter) -> Emitter:
        return evolve(old, source=prefix + old.source)

    return Scan(
        tuple(evolve(s, emitter=emitter(s.emitter)) for s in scan.sightings),
        tuple(
            evolve(
                s,
                source=prefix + s.source,
                activities=tuple(evolve(a, emitter=emitter(a.emitter)) for a in s.activities),
                parts=tuple(evolve(p, name=prefix + p.name) for p in s.parts),
            )
            for s in scan.sources
        ),
        tuple(evolve(e, emitter=emitter(e.emitter)) for e in scan.errors),
    )


@app.command(short_help="Show every clause of one rule, or the whole reasoning of incidents.")
def explain(  # noqa: PLR0913
    words: Annotated[
        list[str],
        typer.Argument(metavar="RULE LOGS", help="A rule's path and logs; with --incident: logs, an incident's id before them."),
    ],
    *,
    incident: Annotated[
        bool,
        typer.Option("--incident", help="Explain incidents instead: all that the logs show, or the one whose id stands first."),
    ] = False,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    year: YearOption = None,
    timezone: ZoneOption = None,
    skew: SkewOption = "5s",
    job: JobOption = None,
    offset: OffsetOption = None,
    log_format: LogFormatOption = None,
    form: FormOption = Form.TEXT,
) -> None:
    """Show how every clause of a rule came out on these logs: true, false or undetermined, why, and the nearest miss.

    With --incident, show why each incident says what it says: the decisive records, every rule that was weighed, who could
    have failed first and why not, and the facts that are missing.
    """
    options = with_formats(read_options(skew, year, timezone, job, offset), log_format, Path())
    if incident:
        _explain_incidents(words, scan_program(rules, program, pack=pack), options, form)
    else:
        _explain_rule(words, scan_program(rules, program, pack=pack), options, form)


def _explain_rule(words: list[str], compiled: Program, options: Options, form: Form) -> None:
    rule, *logs = words
    name = find_rule(compiled, rule).qualified
    if not logs:
        raise UsageError(f"no logs: write rulecheck explain {rule} LOGS")
    explanations = engine.explain(logs, compiled, name, options)
    if form is Form.JSON:
        console.write(schema.dump({"explanations": schema.plain(tuple(explanations))}, indent=2) + "\n")
    elif form is Form.JSONL:
        console.write("".join(schema.dump(schema.plain(item)) + "\n" for item in explanations))
    elif explanations:
        console.show(explanation_page(explanations))
    else:
        console.write(f"{name}: quiet, its trigger was not seen\n")
    raise typer.Exit(1 if any(item.outcome != "quiet" for item in explanations) else 0)


def _explain_incidents(words: list[str], compiled: Program, options: Options, form: Form) -> None:
    wanted = words[0] if len(words) > 1 and _ID.fullmatch(words[0]) and not Path(words[0]).exists() else ""
    found = engine.reason(engine.sight(words[1:] if wanted else words, compiled, options), compiled, options)
    chosen = tuple(one for one in found if any(i.id.startswith(wanted) for i in _within(one.incident)))
    if wanted and not chosen:
        known = ", ".join(one.incident.id for one in found) or "none"
        raise UsageError(f"no incident {wanted!r} in these logs; their incidents: {known}")
    if form is Form.JSON:
        console.write(schema.dump({"reasonings": schema.plain(chosen)}, indent=2) + "\n")
    elif form is Form.JSONL:
        console.write("".join(schema.dump(schema.plain(one)) + "\n" for one in chosen))
    elif chosen:
        console.show(import_module(_DOSSIER).dossier_page(chosen))
    else:
        console.write("no incident in these logs\n")
    raise typer.Exit(1 if chosen else 0)


_ID: Final = re.compile(r"[0-9a-f]{4,12}")


def _within(incident: Incident) -> Iterator[Incident]:
    yield incident
    for one in incident.explains:
        yield from _within(one)
