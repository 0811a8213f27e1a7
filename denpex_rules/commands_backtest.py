"""The verb `backtest`: what rules add and lose over the logs of many jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import attrs
import typer

from denpex_rules import backtest as past
from denpex_rules import console, gather
from denpex_rules.backtest import Change
from denpex_rules.commands_logs import SkewOption, YearOption, ZoneOption, read_options
from denpex_rules.errors import UsageError
from denpex_rules.page import Page
from denpex_rules.selection import Form, FormOption, PackOption, write_rows
from denpex_rules.wording import plural

app: Final = typer.Typer(rich_markup_mode=None)

_SIGNS: Final = {"added": ("+ ", "green"), "lost": ("- ", "red"), "changed": ("~ ", "yellow")}


@app.callback()
def group() -> None:
    """Make this a group of verbs, however few it has."""


@app.command(short_help="Show what rules add and lose over many jobs.")
def backtest(  # noqa: PLR0913 - one parameter an option
    rules: Annotated[str, typer.Argument(metavar="RULES", help="The new or changed rules: a file, a folder, or pack:path.")],
    logs: Annotated[list[Path], typer.Argument(metavar="LOGS", help="A folder with one file or folder a job; or several jobs.")],
    *,
    expect: Annotated[int | None, typer.Option(min=0, metavar="N", help="How many incidents the rules must add.")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="A saved answer, from which nothing may differ.")] = None,
    write_baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the answer with the rules.")] = None,
    pack: PackOption = True,
    year: YearOption = None,
    timezone: ZoneOption = None,
    skew: SkewOption = "5s",
    form: FormOption = Form.TEXT,
) -> None:
    """Compare what is found with the rules and without them, or with a saved answer, job by job."""
    if expect is not None and baseline is not None:
        raise UsageError("--expect counts what is added to the pack without the rules, --baseline compares: give one of them")
    options = read_options(skew, year, timezone)
    saved = past.read_baseline(baseline) if baseline is not None else None
    jobs = past.find_jobs(logs)
    if saved is None:
        after_program, before_program = past.programs([rules], pack=pack)
        before: past.Answer = past.answer(jobs, before_program, options)
    else:
        after_program, before = gather.compile_named([rules], pack=pack), saved
    after = past.answer(jobs, after_program, options)
    changes = past.compare(before, after)
    if write_baseline is not None:
        past.write_baseline(write_baseline, after)
    counts = Counter(change.kind for change in changes)
    if form is Form.TEXT:
        console.show(_page(changes, counts, len(jobs), expect))
    else:
        head = {"jobs": len(jobs), **{kind: counts[kind] for kind in _SIGNS}}
        write_rows(form, head, "changes", [{"change": change.kind, **attrs.asdict(change)} for change in changes])
    failed = counts["added"] != expect if expect is not None else bool(saved is not None and changes)
    raise typer.Exit(1 if failed else 0)


def _page(changes: Sequence[Change], counts: Mapping[str, int], jobs: int, expect: int | None) -> Page:
    page = Page()
    job = None
    for change in changes:
        if change.job != job:
            page.blank()
            page.add(change.job, style="bold", wrap=False)
            job = change.job
        sign, style = _SIGNS[change.kind]
        page.add(change.row.text(), lead=f"{sign}{change.row.place}  ", indent=2, lead_style=style)
        if change.before is not None and change.after is not None:
            page.add(change.before.text(), lead="was ", indent=4, style="dim")
    page.blank()
    said = ", ".join(f"{counts[kind]:,} {kind}" for kind in _SIGNS if counts[kind]) or "nothing differs"
    wrong = expect is not None and counts["added"] != expect
    page.add(
        f"{plural(jobs, 'job')}: {said}" + (f"; expected {expect:,} added" if wrong else ""), style="bold red" if wrong else "bold"
    )
    return page
