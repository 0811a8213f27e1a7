"""The verbs about a pack as a whole: `cover` and `doc`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import typer

from denpex_rules import console, schema
from denpex_rules.cases import Case, find_cases
from denpex_rules.cover import Untried, untried
from denpex_rules.encyclopedia import pages
from denpex_rules.errors import UsageError
from denpex_rules.gather import taxonomy_of
from denpex_rules.page import Page
from denpex_rules.program import Program
from denpex_rules.project import find_project, need_project
from denpex_rules.selection import Form, FormOption, PackOption, ProgramOption, RulesOption, choose_program
from denpex_rules.story import tell
from denpex_rules.wording import plural

app: Final = typer.Typer(rich_markup_mode=None)

CasesArgument = Annotated[list[Path] | None, typer.Argument(metavar="CASES", help="Folders of cases.")]


@app.command(short_help="Show what no case exercises.")
def cover(
    cases: CasesArgument = None,
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a stable rule lacks something.")] = False,
    form: FormOption = Form.TEXT,
) -> None:
    """Show which events, steps and outcomes of the rules no case exercises. Without paths or rules: those of the project."""
    compiled, found = _choose(cases, rules, program, pack=pack)
    open_ = untried(found, compiled)
    stable = [one for one in open_ if one.status == "stable"]
    if form is Form.TEXT:
        console.show(_cover_page(open_, stable, compiled, len(found)))
    else:
        _write(form, {"cases": len(found), "rules": len(compiled.rules), "untried": len(open_), "stable": len(stable)}, open_)
    raise typer.Exit(1 if strict and stable else 0)


def _choose(
    cases: Sequence[Path] | None, rules: Sequence[str] | None, program: Path | None, *, pack: bool
) -> tuple[Program, list[Case]]:
    """Return the program and the cases that a command's arguments, else the project, name."""
    project = find_project(Path()) if cases else need_project(Path())
    chosen = rules or (project.rules if project and program is None else ())
    folders = cases or (project.cases if project else ())
    if not folders:
        raise UsageError("no cases: the project names none")
    return choose_program(chosen, program, pack=pack), [case for folder in folders for case in find_cases(folder)]


def _cover_page(open_: Sequence[Untried], stable: Sequence[Untried], program: Program, cases: int) -> Page:
    page = Page()
    rule = ""
    for one in open_:
        if one.rule != rule:
            page.blank()
            page.add(f"{one.rule} ({one.status})", style="bold")
            rule = one.rule
        page.label(one.what, f"{one.name} {one.text}" if one.what == "event" else one.text)
    page.blank()
    head = f"{plural(len(program.rules), 'rule')}, {plural(cases, 'case')}: "
    if not open_:
        page.add(f"{head}every event, step and outcome is exercised", style="bold green")
    else:
        page.add(f"{head}{len(open_):,} not exercised, {len(stable):,} of stable rules", style="bold red" if stable else "bold")
    return page


def _write(form: Form, head: dict[str, Any], open_: Sequence[Untried]) -> None:
    rows = [attrs.asdict(one) for one in open_]
    if form is Form.JSON:
        console.write(schema.dump({"summary": head, "untried": rows}, indent=2) + "\n")
    else:
        console.write("".join(schema.dump(row) + "\n" for row in (*rows, {"type": "summary", **head})))


@app.command(short_help="Write the rules as an encyclopedia.")
def doc(
    cases: CasesArgument = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")],
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
) -> None:
    """Write the rules as Markdown: a page a rule with its cases, and indexes by layer, class, message and Xid code."""
    compiled, found = _choose(cases, rules, program, pack=pack)
    about = [case for case in found if case.expected.rule is None or _knows(compiled, case.expected.rule)]
    written = pages(compiled, taxonomy_of(rules or ()), tell(about, compiled))
    for name, text in written.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    page = Page()
    page.add(f"{output}: {plural(len(written), 'page')} about {plural(len(compiled.rules), 'rule')}")
    console.show(page)


def _knows(program: Program, rule: str) -> bool:
    return any(rule in {known.id, known.qualified} for known in program.rules)
