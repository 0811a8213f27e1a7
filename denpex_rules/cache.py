"""Compiled programs kept between runs, so that a scan need not compile the same rules again.

A program is found by a hash of everything that it is made of: the rule files and the taxonomies, and this package's own code. It is
kept in the user's cache folder in its saved form, which holds no code. A cache that can't be read or written makes no difference
but in speed. DENPEX_RULES_CACHE names another folder; empty, it turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from denpex_rules import __version__
from denpex_rules.errors import ProgramError
from denpex_rules.pattern import Types
from denpex_rules.program import VERSION, Program, dumps, load_program

FOLDER: Final = "DENPEX_RULES_CACHE"  # the environment variable
KEPT: Final = 16  # programs; the least recently used go
TAXONOMY: Final = "taxonomy.toml"
RULE: Final = ".rule"


def cached(sources: Iterable[Path], types: Types, compiled: Callable[[], Program]) -> Program:
    """Return the program of rule files and folders: the kept one, else a new one, which is then kept.

    Args:
        sources: all that the rules are read from.
        types: the capture types that are installed.
        compiled: makes the program; what it raises is passed on.
    """
    folder = cache_folder()
    if folder is None:
        return compiled()
    path = folder / f"{fingerprint(sources)}.program"
    with suppress(ProgramError):  # none is kept, or it is damaged: it is made anew
        program = load_program(path, types)
        with suppress(OSError):
            os.utime(path)
        return program
    program = compiled()
    with suppress(OSError):  # a home that can't be written to
        _keep(program, path)
    return program


def cache_folder() -> Path | None:
    """Return the folder that programs are kept in; None where the cache is turned off or there is no home."""
    named = os.environ.get(FOLDER)
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "denpex_rules"
    except RuntimeError:
        return None


def fingerprint(sources: Iterable[Path]) -> str:
    """Return a hash of the content of rule files and folders, of their places, and of this package."""
    digest = hashlib.sha256(f"{__version__} {VERSION}".encode())
    with os.scandir(Path(__file__).parent) as package:
        states = {entry.name: entry.stat() for entry in package if entry.name.endswith(".py")}
    for name, status in sorted(states.items()):
        digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    for path in _files(sources):
        data = Path(path).read_bytes()
        digest.update(f"{path} {len(data)}\n".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def _files(sources: Iterable[Path]) -> Iterator[str]:
    for source in sources:
        resolved = source.resolve()
        if resolved.is_dir():
            found = (f"{folder}{os.sep}{name}" for folder, _, names in os.walk(resolved) for name in names if _counts(name))
            yield from sorted(filter(os.path.isfile, found))
        elif resolved.is_file():
            yield str(resolved)
            beside = resolved.parent / TAXONOMY
            if beside.is_file():
                yield str(beside)


def _counts(name: str) -> bool:
    return name.endswith(RULE) or name == TAXONOMY


def _keep(program: Program, path: Path) -> None:
    """Write a program beside the others, in one step, and drop those that were not used for longest."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", encoding="ascii", newline="\n", delete=False) as part:
        part.write(dumps(program))
    Path(part.name).replace(path)
    kept = sorted(path.parent.glob("*.program"), key=lambda one: one.stat().st_mtime_ns, reverse=True)
    for old in kept[KEPT:]:
        old.unlink(missing_ok=True)
