"""The verbs that show and save rules: `list`, `show`, `compile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from denpex_rules import console, schema
from denpex_rules.notation import clause_text
from denpex_rules.page import Page
from denpex_rules.program import save_program
from denpex_rules.rule import Rule
from denpex_rules.selection import (
    Form,
    FormOption,
    PackOption,
    ProgramOption,
    RulesOption,
    choose_program,
    find_rule,
    known_rules,
    write_rows,
)
from denpex_rules.wording import plural

app: Final = typer.Typer(rich_markup_mode=None)


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
    known = sorted(known_rules(rules, program, pack=pack).rules, key=lambda rule: rule.qualified)
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
        write_rows(form, {}, "rules", chosen)


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
    compiled = known_rules(rules, program, pack=pack)
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
