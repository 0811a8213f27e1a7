"""What reaches the terminal: pages on standard output, sentences on standard error, each neutralised."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, Final

from denpex_rules.page import Page, neutral

_CONSOLE: Final = "rich.console"  # imported where there is a terminal
_TEXT: Final = "rich.text"


def write(text: str) -> None:
    """Write text that is safe already (rendered, or JSON) to standard output, at once: a closed pipe shows here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def show(page: Page) -> None:
    """Write a page to standard output, with its styles when that is a terminal and NO_COLOR is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        write(page.plain())
        return
    console: Any = import_module(_CONSOLE).Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    assemble: Any = import_module(_TEXT).Text.assemble
    for line in page.lines:
        console.print(assemble(*line), soft_wrap=True)
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write an error, or several lines of one, to standard error."""
    sys.stderr.write("".join(f"{neutral(line)}\n" for line in text.split("\n")))
    sys.stderr.flush()


def survive_any_encoding() -> None:
    """Make both streams show what their encoding lacks as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
