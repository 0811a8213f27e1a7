"""The verbs about rules: `check`, `test`, `list`, `show`, `compile`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from denpex_rules import console, gather, schema
from denpex_rules.cases import find_cases
from denpex_rules.errors import Diagnostic, Severity, UsageError
from denpex_rules.fixtures import CaseResult, run_case
from denpex_rules.notation import clause_text
from denpex_rules.page import Page
from denpex_rules.program import Program, save_program
from denpex_rules.project import find_project, need_project
from denpex_rules.rule import Rule
from denpex_rules.selection import Form, FormOption, PackOption, ProgramOption, RulesOption, choose_program, find_rule
from denpex_rules.wording import plural

app: Final = typer.Typer(rich_markup_mode=None)


# ------------------------------------------------------------------ check


@app.command(short_help="Find mistakes in rules.")
def check(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATHS", help="Rule files and folders.")] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where there are hints.")] = False,
    form: FormOption = Form.TEXT,
) -> None:
    """Check rules: syntax, names, types, patterns, examples, bounds. Without paths: those of the project, else the shipped pack."""
    project = find_project(Path())
    raise typer.Exit(run_check(paths or (project.rules if project else ()), form, strict=strict))


def run_check(paths: Sequence[Path], form: Form, *, strict: bool = False) -> int:
    """Check rules, write what was found, and return the exit code."""
    count, diagnostics = gather.check(paths)
    levels = Counter(d.severity for d in diagnostics)
    if form is Form.TEXT:
        console.show(_check_page(count, diagnostics, levels))
    else:
        rows = [_diagnostic_row(d) for d in diagnostics]
        _write_rows(form, {"rules": count}, "diagnostics", rows)
    if levels["error"]:
        return 2
    return 1 if strict and diagnostics else 0


def _check_page(count: int | None, diagnostics: Iterable[Diagnostic], levels: Mapping[Severity, int]) -> Page:
    page = Page()
    for diagnostic in diagnostics:
        for line in diagnostic.render().split("\n"):
            page.add(line, wrap=False)
        page.blank()
    found = [plural(levels["error"], "mistake")] if levels["error"] else ["no mistakes"]
    found += [plural(levels["warning"], "hint")] if levels["warning"] else []
    rules = f"{plural(count, 'rule')}: " if count is not None else ""
    page.add(f"{rules}{', '.join(found)}", style="bold red" if levels["error"] else "bold green")
    return page


def _diagnostic_row(diagnostic: Diagnostic) -> dict[str, Any]:
    span = diagnostic.span
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "start": span.start,
        "end": span.end,
        "expected": diagnostic.expected,
        "hint": diagnostic.hint,
    }


# ------------------------------------------------------------------ test


@app.command(name="test", short_help="Run fixture cases.")
def prove(
    cases: Annotated[list[Path] | None, typer.Argument(metavar="CASES", help="Folders of cases.")] = None,
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    shuffle: Annotated[bool, typer.Option(help="Also scan the files of each case in another order.")] = True,
    form: FormOption = Form.TEXT,
) -> None:
    """Run fixture cases: logs with a case.toml that says what must be found. Without paths or rules: those of the project."""
    project = find_project(Path()) if cases else need_project(Path())
    chosen = rules or (project.rules if project and program is None else ())
    folders = cases or (project.cases if project else ())
    raise typer.Exit(run_cases(folders, choose_program(chosen, program, pack=pack), form, shuffle=shuffle))


def run_cases(folders: Sequence[Path], program: Program, form: Form, *, shuffle: bool = True) -> int:
    """Run all cases of the folders, write how they came out, and return the exit code."""
    if not folders:
        raise UsageError("no cases: the project names none")
    results = [run_case(case, program, shuffle=shuffle) for folder in folders for case in find_cases(folder)]
    failed = [result for result in results if not result.passed]
    if form is Form.TEXT:
        console.show(_cases_page(results, failed))
    else:
        _write_rows(form, {"passed": len(results) - len(failed), "failed": len(failed)}, "cases", [_case_row(r) for r in results])
    return 1 if failed else 0


def _cases_page(results: Sequence[CaseResult], failed: Sequence[CaseResult]) -> Page:
    page = Page()
    for result in failed:
        page.add(result.case.folder.as_posix(), lead="FAIL ", style="bold", lead_style="bold red", wrap=False)
        page.add(result.case.expected.says, lead="says: ", indent=2, lead_style="dim")
        page.items(result.differences, indent=2)
        if result.why:
            page.add(f"how {result.case.expected.rule} came out:", indent=2)
            page.items(result.why, indent=4)
        page.blank()
    if failed:
        page.add(f"{len(failed)} of {plural(len(results), 'case')} {'fails' if len(failed) == 1 else 'fail'}", style="bold red")
    else:
        page.add(f"{plural(len(results), 'case')}: all pass", style="bold green")
    return page


def _case_row(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.folder.as_posix(),
        "says": result.case.expected.says,
        "passed": result.passed,
        "differences": list(result.differences),
        "why": list(result.why),
    }


def check_project() -> int:
    """Check and test what the current folder's project names, and return the exit code."""
    project = need_project(Path())
    if not project.rules and not project.cases:
        raise UsageError("the project names neither rules nor cases")
    code = run_check(project.rules, Form.TEXT) if project.rules else 0
    if code or not project.cases:
        return code
    return run_cases(project.cases, choose_program(project.rules, None, pack=True), Form.TEXT)


# ------------------------------------------------------------------ list, show, compile


@app.command(name="list", short_help="List rules.")
def list_rules(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORDS", help="Only rules whose facts hold all these words."),
    ] = None,
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    form: FormOption = Form.TEXT,
) -> None:
    """List rules: path, status, class and title."""
    known = sorted(choose_program(rules, program, pack=pack).rules, key=lambda rule: rule.qualified)
    rows = [_rule_row(rule) for rule in known]
    chosen = [row for row in rows if all(word.lower() in str(row).lower() for word in words or ())]
    if form is Form.TEXT:
        page = Page()
        width = max((len(row["rule"]) for row in chosen), default=0)
        for row in chosen:
            page.add(f"{row['status']:<10}  {row['title']}", lead=f"{row['rule']:<{width}}  ", lead_style="bold")
        page.add(plural(len(chosen), "rule"), style="dim")
        console.show(page)
    else:
        _write_rows(form, {}, "rules", chosen)


@app.command(short_help="Show one rule.")
def show(
    rule: Annotated[str, typer.Argument(help="The rule's path, such as hardware.gpu.fell_off_bus.")],
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
    program: ProgramOption = None,
    form: FormOption = Form.TEXT,
) -> None:
    """Show one rule: what it claims, its clauses in words, what it causes, and what it is confused with."""
    compiled = choose_program(rules, program, pack=pack)
    found = find_rule(compiled, rule)
    row = {**_rule_row(found), **_detail_row(found)}
    if form is Form.TEXT:
        console.show(_rule_page(row))
    else:
        console.write(schema.dump(row, indent=2 if form is Form.JSON else None) + "\n")


@app.command(name="compile", short_help="Save compiled rules.")
def compile_program(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to save the program.")],
    *,
    rules: RulesOption = None,
    pack: PackOption = True,
) -> None:
    """Save compiled rules: `scan --program FILE` and embedders load them without the parser."""
    program = choose_program(rules, None, pack=pack)
    save_program(program, output)
    page = Page()
    page.add(f"{output}: {plural(len(program.rules), 'rule')}, {plural(len(program.events), 'event')}")
    console.show(page)


def _rule_row(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.qualified,
        "title": rule.title,
        "class": rule.cls,
        "level": rule.level,
        "impact": rule.impact,
        "status": rule.status,
        "since": rule.since,
        "tags": list(rule.tags),
        "causes": list(rule.causes),
    }


def _detail_row(rule: Rule) -> dict[str, Any]:
    return {
        "summary": rule.summary,
        "per": list(rule.keys),
        "within_s": rule.span_ns / 1e9,
        "clauses": [clause_text(step) for step in rule.steps],
        "see": [{"rule": see.rule, "because": see.because} for see in rule.see],
        "references": list(rule.references),
        "source": rule.span.path,
    }


def _rule_page(row: dict[str, Any]) -> Page:
    page = Page()
    page.add(row["title"], lead=f"{row['rule']}: ", style="bold")
    for name, value in row.items():
        if name in {"rule", "title", "clauses", "see", "references"} or not value:
            continue
        page.label(name.removesuffix("_s"), ", ".join(value) if isinstance(value, list) else _shown(name, value))
    page.add("clauses:", indent=2)
    page.items(tuple(row["clauses"]), indent=4)
    for see in row["see"]:
        page.label("not", f"{see['rule']}: {see['because']}")
    for reference in row["references"]:
        page.label("see", reference)
    return page


def _shown(name: str, value: object) -> str:
    return f"{value:g} s" if name.endswith("_s") else str(value)


def _write_rows(form: Form, head: dict[str, Any], name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as one JSON document, or one line each, the summary last."""
    if form is Form.JSON:
        console.write(schema.dump({**head, name: rows}, indent=2) + "\n")
    else:
        summary = [{"type": "summary", **head}] if head else []
        console.write("".join(schema.dump(row) + "\n" for row in (*rows, *summary)))
