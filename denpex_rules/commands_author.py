"""The verbs of a rule's author: `fmt`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from denpex_rules import console
from denpex_rules.errors import Diagnostic, RuleError, Source, UsageError
from denpex_rules.layout import format_text
from denpex_rules.library import SUFFIX, decode, read_file
from denpex_rules.mending import Mended, write
from denpex_rules.page import Page, neutral
from denpex_rules.project import need_project
from denpex_rules.wording import plural

app: Final = typer.Typer(rich_markup_mode=None)

STDIN: Final = Path("-")
STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


@app.callback()
def group() -> None:
    """Keep `fmt` a verb: a lone command would stand for the whole module."""


@app.command(short_help="Lay rules out.")
def fmt(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATHS", help="Rule files and folders; - for standard input.")
    ] = None,
    *,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 where a file would change.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
) -> None:
    """Bring rule files into the canonical layout, comments kept. Without paths: those of the project."""
    if STDIN in (paths or ()):
        raise typer.Exit(_format_stdin(paths or (), check=check, diff=diff))
    files = list(dict.fromkeys(_files(paths or need_project(Path()).rules)))
    changed, mistakes = _laid_out((path, read_file(path)) for path in files)
    if not (check or diff):
        for one in changed:
            write(one)
    console.show(_differences(changed) if diff else _summary(changed, len(files), check=check))
    raise typer.Exit(_exit_code(changed, mistakes, check=check))


def _format_stdin(paths: Sequence[Path], *, check: bool, diff: bool) -> int:
    """Lay standard input out on standard output, byte for byte what a file would hold; return the exit code."""
    if len(paths) > 1:
        raise UsageError("- is standard input: it stands alone")
    source = decode(sys.stdin.buffer.read(), "<stdin>")
    changed, mistakes = _laid_out([(Path("<stdin>"), source)])
    if diff:
        console.show(_differences(changed))
    elif isinstance(source, Source) and not (check or mistakes):
        sys.stdout.buffer.write((changed[0].after if changed else source.text).encode())
        sys.stdout.buffer.flush()
    return _exit_code(changed, mistakes, check=check)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the rule files that are named, and those below the folders that are. Raises UsageError where there is none."""
    for path in paths:
        if path.is_file():
            yield path
        elif not path.is_dir():
            raise UsageError(f"there is no file or folder {path}")
        else:
            found = sorted(p for p in path.rglob(f"*{SUFFIX}") if p.is_file())
            if not found:
                raise UsageError(f"there is no {SUFFIX} file in {path}")
            yield from found


def _laid_out(read: Iterable[tuple[Path, Source | Diagnostic]]) -> tuple[list[Mended], list[Diagnostic]]:
    """Return the files that change, and the mistakes of those that can't be laid out."""
    changed: list[Mended] = []
    mistakes: list[Diagnostic] = []
    for path, source in read:
        if isinstance(source, Diagnostic):
            mistakes.append(source)
            continue
        try:
            after = format_text(source.text, source.path)
        except RuleError as error:
            mistakes += error.diagnostics
        else:
            changed += [Mended(path, source.text, after, ())] if after != source.text else []
    return changed, mistakes


def _exit_code(changed: Sequence[Mended], mistakes: Sequence[Diagnostic], *, check: bool) -> int:
    if mistakes:
        console.complain(str(RuleError(mistakes)))
        return 2
    return 1 if check and changed else 0


def _differences(changed: Iterable[Mended]) -> Page:
    page = Page()
    for one in changed:
        lines = one.difference().removesuffix("\n").split("\n")
        page.lines += [((neutral(line), STYLES.get(line[:1], "")),) for line in lines]  # with the spaces at their ends
    return page


def _summary(changed: Sequence[Mended], total: int, *, check: bool) -> Page:
    page = Page()
    verb = "would change" if check else "changed"
    for one in changed:
        page.add(one.path.as_posix(), lead=f"{verb} ", wrap=False)
    page.add(f"{plural(total, 'file')}, {len(changed) or 'none'} {verb}", style="bold")
    return page
