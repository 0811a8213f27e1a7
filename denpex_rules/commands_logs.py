"""The verbs that read logs: `scan`, `correlate`, `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer
from attrs import evolve

from denpex_rules import console, engine, scanfile, schema
from denpex_rules.clock import parse_duration
from denpex_rules.engine import Options
from denpex_rules.errors import UsageError
from denpex_rules.finding import Report
from denpex_rules.render import explanation_page, find_renderer, report_page
from denpex_rules.selection import Form, FormOption, PackOption, ProgramOption, RulesOption, choose_program, find_rule
from denpex_rules.sighting import Emitter, Scan

app: Final = typer.Typer(rich_markup_mode=None)

LogsArgument = Annotated[list[Path], typer.Argument(metavar="LOGS", help="Log files and folders.")]
YearOption = Annotated[int | None, typer.Option(min=1970, max=2100, help="Year of stamps that have none.")]
ZoneOption = Annotated[str | None, typer.Option(metavar="ZONE", help="Zone of stamps that have none, such as Europe/Berlin.")]
SkewOption = Annotated[str, typer.Option(metavar="DURATION", help="How far the clocks of two hosts may differ.")]
FormatOption = Annotated[str, typer.Option("--format", metavar="NAME", help="text, json, jsonl, or the name of a plug-in.")]
JobOption = Annotated[str | None, typer.Option(metavar="ID", help="The job that these logs are of, where they don't say it.")]

QUIET: Final = frozenset({"healthy", "no_data"})  # verdicts that exit with 0


def read_options(skew: str, year: int | None = None, timezone: str | None = None, job: str | None = None) -> Options:
    """Return the options of a scan. Raises UsageError for a skew that is no duration."""
    skew_ns = parse_duration(skew)
    if skew_ns is None:
        raise UsageError(f"--skew: {skew!r} is no duration; write it with its unit, such as 5s")
    return Options(year=year, timezone=timezone, skew_ns=skew_ns, job=job)


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
    coverage: Annotated[bool, typer.Option("--coverage", help="Show all that was read, and every gap in it.")] = False,
    write_sightings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also save what was sighted, for `rulecheck correlate`."),
    ] = None,
    form: FormatOption = "text",
) -> None:
    """Read the logs of a failed job: who failed first, since when, by which lines, and what is missing."""
    find_renderer(form)  # an unknown format is refused before, not after, a long scan
    options = evolve(read_options(skew, year, timezone, job), coverage=coverage)
    compiled = choose_program(rules, program, pack=pack)
    sighted = engine.sight(logs, compiled)
    if write_sightings is not None:
        scanfile.save_scan(sighted, write_sightings)
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
    coverage: Annotated[bool, typer.Option("--coverage", help="Show all that was read, and every gap in it.")] = False,
    form: FormatOption = "text",
) -> None:
    """Merge what several scans sighted, each where its logs are, into one report; use the same rules as they did."""
    find_renderer(form)
    options = evolve(read_options(skew, job=job), coverage=coverage)
    compiled = choose_program(rules, program, pack=pack)
    merged = merge_scans({str(path): scanfile.load_scan(path) for path in sightings})
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
            evolve(s, source=prefix + s.source, activities=tuple(evolve(a, emitter=emitter(a.emitter)) for a in s.activities))
            for s in scan.sources
        ),
        tuple(evolve(e, emitter=emitter(e.emitter)) for e in scan.errors),
    )


@app.command(short_help="Show every clause of one rule on these logs.")
def explain(  # noqa: PLR0913
    rule: Annotated[str, typer.Argument(help="The rule's path, such as hardware.gpu.fell_off_bus.")],
    logs: LogsArgument,
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    year: YearOption = None,
    timezone: ZoneOption = None,
    skew: SkewOption = "5s",
    job: JobOption = None,
    form: FormOption = Form.TEXT,
) -> None:
    """Show how every clause of a rule came out on these logs: true, false or undetermined, why, and the nearest miss."""
    compiled = choose_program(rules, program, pack=pack)
    name = find_rule(compiled, rule).qualified
    explanations = engine.explain(logs, compiled, name, read_options(skew, year, timezone, job))
    if form is Form.JSON:
        console.write(schema.dump({"explanations": schema.plain(tuple(explanations))}, indent=2) + "\n")
    elif form is Form.JSONL:
        console.write("".join(schema.dump(schema.plain(item)) + "\n" for item in explanations))
    elif explanations:
        console.show(explanation_page(explanations))
    else:
        console.write(f"{name}: quiet, its trigger was not seen\n")
    raise typer.Exit(1 if any(item.outcome != "quiet" for item in explanations) else 0)
