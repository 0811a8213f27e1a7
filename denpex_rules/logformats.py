"""Which log formats a command reads beside the ones that it knows: the project's, those of plug-ins, those that options name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from attrs import evolve

from denpex_rules import plugins
from denpex_rules.errors import UsageError
from denpex_rules.judgement import Options
from denpex_rules.lineformat import check
from denpex_rules.mistake import did_you_mean
from denpex_rules.project import find_project
from denpex_rules.record import LineFormat
from denpex_rules.tables import FORMATS

OPTION: Final = "option"  # the name of the formats that options spell out
WEAK: Final = frozenset(f.name for f in FORMATS if f.role == "weak")

LogFormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--log-format",
        metavar="LINE",
        help="A log format of your own, such as '{time} {host} [{rank}] {level} {text}', or the name of a wrapper that all logs "
        "have, such as srun_label. Repeatable.",
    ),
]


def with_formats(options: Options, asked: Sequence[str] | None, folder: Path) -> Options:
    """Return options that read the formats which `--log-format`, the project of a folder and plug-ins give, in this order.

    Args:
        options: the options so far.
        asked: what `--log-format` says: lines with fields, and names of weak wrappers.
        folder: the folder whose `[tool.rulecheck]` counts.

    Raises:
        UsageError: an unknown name, a line that can't be read, or two formats of one name.
        PluginError: a plug-in does not load or has the wrong shape.
    """
    lines = tuple(text for text in asked or () if "{" in text)
    names = [text for text in asked or () if "{" not in text]
    for name in names:
        if name not in WEAK:
            hint = did_you_mean(name, sorted(WEAK)) or f"known: {', '.join(sorted(WEAK))}, or a line with fields in braces"
            raise UsageError(f"--log-format: unknown wrapper {name!r}; {hint}")
    project = find_project(folder)
    formats = (
        *((LineFormat(OPTION, lines),) if lines else ()),
        *(project.formats if project else ()),
        *plugins.line_formats().values(),
    )
    known = {f.name for f in FORMATS}
    for form in formats:
        check(form)
        if form.name in known:
            raise UsageError(f"log format {form.name}: the name is taken")
        known.add(form.name)
    return evolve(options, formats=formats, wrappers=frozenset(names))
