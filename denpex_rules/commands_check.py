"""The verbs that prove rules: `check` and `test`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from denpex_rules import console, exchange, gather, mending, schema
from denpex_rules.cases import CASE_FILE, find_cases
from denpex_rules.errors import Diagnostic, Severity, UsageError
from denpex_rules.fixtures import CaseResult, run_case
from denpex_rules.judgement import DEFAULT
from denpex_rules.library import forget
from denpex_rules.logformats import with_formats
from denpex_rules.page import Page
from denpex_rules.program import Program
from denpex_rules.project import find_project, need_project
from denpex_rules.selection import Form, PackOption, ProgramOption, RulesOption, choose_program, write_rows
from denpex_rules.wording import plural

ROUNDS: Final = 10  # of fixing: one fix may make room for the next


class CaseForm(StrEnum):
    """The forms of what `test` found."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    JUNIT = "junit"
    GITHUB = "github"


class CheckForm(StrEnum):
    """The forms of what `check` found."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


app: Final = typer.Typer(rich_markup_mode=None)


# ------------------------------------------------------------------ check


@app.command(short_help="Find mistakes in rules.")
def check(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATHS", help="Rule files and folders.")] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where there are hints.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend in the files what can be mended safely.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what --fix would change first, and change nothing.")] = False,
    form: Annotated[CheckForm, typer.Option("--format", help="The form of the answer.")] = CheckForm.TEXT,
) -> None:
    """Check rules: syntax, names, types, patterns, examples, bounds. Without paths: those of the project, else the shipped pack."""
    project = find_project(Path())
    chosen = paths or (project.rules if project else ())
    if (fix or diff) and not chosen:
        raise UsageError("name the rules to mend: no paths are given, and the current folder names none")
    if diff and (fix or form is not CheckForm.TEXT):
        raise UsageError("--diff only shows a difference: leave out --fix and --format")
    raise typer.Exit(show_fixes(chosen) if diff else run_check(chosen, form, strict=strict, fix=fix))


def run_check(paths: Sequence[Path], form: CheckForm, *, strict: bool = False, fix: bool = False) -> int:
    """Check rules, mend them where asked to, write what was found, and return the exit code."""
    fixed = _fix(paths) if fix else ()
    count, diagnostics = gather.check(paths)
    levels = Counter(d.severity for d in diagnostics)
    if form is CheckForm.TEXT:
        console.show(_check_page(count, diagnostics, levels, fixed))
    elif form is CheckForm.SARIF:
        console.write(schema.dump(exchange.sarif(diagnostics), indent=2) + "\n")
    elif form is CheckForm.GITHUB:
        console.write(exchange.github(map(exchange.remark, diagnostics)))
    elif form is CheckForm.JUNIT:
        console.write(exchange.junit("check", _checks(count, diagnostics), strict=strict))
    else:
        head = {"rules": count, "fixed": len(fixed)} if fix else {"rules": count}
        write_rows(Form(form.value), head, "diagnostics", [_diagnostic_row(d) for d in diagnostics])
    if levels["error"]:
        return 2
    return 1 if strict and diagnostics else 0


def show_fixes(paths: Sequence[Path]) -> int:
    """Write what one round of fixes would change as a unified diff, and return the exit code: 1 where it would change something."""
    mended = mending.mend_files(_own(paths))
    page = Page()
    for one in mended:
        for line in one.difference().rstrip("\n").split("\n"):
            page.add(line, wrap=False, style=_STYLES.get(line[:1], ""))
    fixes = sum(len(one.taken) for one in mended)
    page.add(f"{plural(fixes, 'fix', 'fixes')} in {plural(len(mended), 'file')}" if mended else "nothing to fix", style="bold")
    console.show(page)
    return 1 if mended else 0


_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def _fix(paths: Sequence[Path]) -> tuple[Diagnostic, ...]:
    """Take all safe patches, and those that become possible by them; return what was mended."""
    fixed: list[Diagnostic] = []
    for _ in range(ROUNDS):
        mended = mending.mend_files(_own(paths))
        if not mended:
            break
        for one in mended:
            mending.write(one)
            fixed += one.taken
        forget()
    return tuple(fixed)


def _own(paths: Sequence[Path]) -> list[Diagnostic]:
    """Return what was found in the files that are given: no other file is mended."""
    given = [path.resolve() for path in paths]
    _, diagnostics = gather.check(paths)
    return [d for d in diagnostics if any(Path(d.span.path).resolve().is_relative_to(path) for path in given)]


def _check_page(
    count: int | None, diagnostics: Iterable[Diagnostic], levels: Mapping[Severity, int], fixed: Sequence[Diagnostic]
) -> Page:
    page = Page()
    for one in fixed:
        what = one.patch.title if one.patch else ""
        page.add(
            f"{exchange.near(one.span.path)}:{one.span.line}: {what} ({one.code})",
            lead="fixed ",
            lead_style="bold green",
            wrap=False,
        )
    page.blank()
    for diagnostic in diagnostics:
        for line in diagnostic.render().split("\n"):
            page.add(line, wrap=False)
        page.blank()
    found = [plural(levels["error"], "mistake")] if levels["error"] else ["no mistakes"]
    found += [plural(levels["warning"], "hint")] if levels["warning"] else []
    found += [f"{len(fixed)} fixed"] if fixed else []
    rules = f"{plural(count, 'rule')}: " if count is not None else ""
    page.add(f"{rules}{', '.join(found)}", style="bold red" if levels["error"] else "bold green")
    mendable = sum(1 for d in diagnostics if d.patch is not None and d.patch.safe)
    if mendable:
        page.add(f"--fix mends {mendable} of them; --diff shows how", style="dim")
    return page


def _checks(count: int | None, diagnostics: Iterable[Diagnostic]) -> list[exchange.Check]:
    """Return one check for each diagnostic, grouped by file; one that passes where there is none."""
    remarks = [exchange.remark(d) for d in diagnostics]
    if not remarks:
        return [exchange.Check("", plural(count or 0, "rule"))]
    return [exchange.Check(one.path, f"{one.title} {one.line}:{one.column}", (one,)) for one in remarks]


def _diagnostic_row(diagnostic: Diagnostic) -> dict[str, Any]:
    span, patch = diagnostic.span, diagnostic.patch
    edits = [{"start": e.span.start, "end": e.span.end, "text": e.text} for e in patch.edits] if patch else []
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
        "patch": {"title": patch.title, "safe": patch.safe, "edits": edits} if patch else None,
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
    form: Annotated[CaseForm, typer.Option("--format", help="The form of the answer.")] = CaseForm.TEXT,
) -> None:
    """Run fixture cases: logs with a case.toml that says what must be found. Without paths or rules: those of the project."""
    project = find_project(Path()) if cases else need_project(Path())
    chosen = rules or (project.rules if project and program is None else ())
    folders = cases or (project.cases if project else ())
    raise typer.Exit(run_cases(folders, choose_program(chosen, program, pack=pack), form, shuffle=shuffle))


def run_cases(folders: Sequence[Path], program: Program, form: CaseForm, *, shuffle: bool = True) -> int:
    """Run all cases of the folders, write how they came out, and return the exit code."""
    if not folders:
        raise UsageError("no cases: the project names none")
    formats = with_formats(DEFAULT, None, Path()).formats
    results = [run_case(case, program, shuffle=shuffle, formats=formats) for folder in folders for case in find_cases(folder)]
    failed = [result for result in results if not result.passed]
    if form is CaseForm.TEXT:
        console.show(_cases_page(results, failed))
    elif form is CaseForm.GITHUB:
        console.write(exchange.github(one for result in failed for one in _case_check(result).remarks))
    elif form is CaseForm.JUNIT:
        console.write(exchange.junit("test", [_case_check(result) for result in results]))
    else:
        head = {"passed": len(results) - len(failed), "failed": len(failed)}
        write_rows(Form(form.value), head, "cases", [_case_row(r) for r in results])
    return 1 if failed else 0


def _cases_page(results: Sequence[CaseResult], failed: Sequence[CaseResult]) -> Page:
    page = Page()
    for result in failed:
        page.add(result.case.folder.as_posix(), lead="FAIL ", style="bold", lead_style="bold red", wrap=False)
        for line in result.text().split("\n"):
            text = line.lstrip(" ")
            page.add(text, indent=2 + len(line) - len(text), style=_STYLES.get(text[:1], ""), wrap=not text.startswith(("-", "+")))
        page.blank()
    if failed:
        page.add(f"{len(failed)} of {plural(len(results), 'case')} {'fails' if len(failed) == 1 else 'fail'}", style="bold red")
    else:
        page.add(f"{plural(len(results), 'case')}: all pass", style="bold green")
    return page


def _case_check(result: CaseResult) -> exchange.Check:
    """Return a case as a check; what is wrong with it stands at its case.toml."""
    folder = result.case.folder
    path = exchange.near(str(folder / CASE_FILE))
    failure = exchange.Remark(path, "case fails", result.text(), line=_line_of(result))
    group = exchange.near(str(folder.parent))
    return exchange.Check(group, folder.name, () if result.passed else (failure,))


def _line_of(result: CaseResult) -> int:
    """Return the line of the `case.toml` that says what did not come out first; 1 where no line does."""
    said = next((key for text, key in _SAID.items() if result.differences and result.differences[0].startswith(text)), "rule")
    lines = (result.case.folder / CASE_FILE).read_text(encoding="utf-8").splitlines()
    return next((n for n, line in enumerate(lines, 1) if re.match(rf"\s*{said}\s*=", line)), 1)


# How a difference starts, and the key that it is about.
_SAID: Final = {
    "verdict": "verdict",
    "outcome": "outcome",
    "initiator": "initiators",
    "innocent": "innocent",
    "first evidence": "first",
    "evidence": "evidence",
    "onset": "onset",
    "explains": "explains",
    "missing fact": "missing",
    "extra": "outcome",
}


def _case_row(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.folder.as_posix(),
        "says": result.case.expected.says,
        "passed": result.passed,
        "differences": list(result.differences),
        "evidence": list(result.evidence),
        "why": list(result.why),
    }


def check_project() -> int:
    """Check and test what the current folder's project names, and return the exit code."""
    project = need_project(Path())
    if not project.rules and not project.cases:
        raise UsageError("the project names neither rules nor cases")
    code = run_check(project.rules, CheckForm.TEXT) if project.rules else 0
    if code or not project.cases:
        return code
    return run_cases(project.cases, choose_program(project.rules, None, pack=True), CaseForm.TEXT)
