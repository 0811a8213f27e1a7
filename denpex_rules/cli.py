"""`rulecheck`, the command, and its exit codes.

0: nothing found, or all pass; 1: something found, or a case fails; 2: usage or rule errors; 130: interrupted.

What asks for nothing but the version is answered without loading the verbs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn

from denpex_rules import __version__

_VERBS: Final = "denpex_rules.verbs"  # brings Typer
GARBAGE: Final = 1_000_000  # objects between two collections: neither a program nor a scan makes cycles


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `rulecheck` and exit.

    Args:
        arguments: what follows the command's name; those of the process when None.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words == ["--version"] and _told(f"rulecheck {__version__}\n"):
        sys.exit(0)
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # a process that ends frees its memory at once: no last search for garbage
    sys.exit(import_module(_VERBS).run(words))


def _told(text: str) -> bool:
    """Write a text; False where that fails, which the verbs can explain. Where the reader went away, end without a word."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the last flush of the interpreter fails again
        sys.exit(1)
    except OSError:
        return False
    return True
