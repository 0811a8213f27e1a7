"""Mending rule files: the patches of diagnostics, taken together, as new text, as a difference to read, or written to the files."""

from __future__ import annotations

import os
import re
import tempfile
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final

from attrs import frozen

from denpex_rules.errors import Diagnostic, Edit, UsageError

BOM: Final = b"\xef\xbb\xbf"
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")


@frozen
class Mended:
    """One file before and after; `taken` are the diagnostics whose patches made the difference."""

    path: Path
    before: str
    after: str
    taken: tuple[Diagnostic, ...]

    def difference(self) -> str:
        """Return the change as a unified diff."""
        name = self.path.as_posix()
        lines = unified_diff(_LINES.findall(self.before), _LINES.findall(self.after), name, name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits applied, which must not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=_place):
        if edit.span.start < position:
            raise ValueError("edits overlap")
        parts += [text[position : edit.span.start], edit.text]
        position = edit.span.end
    return "".join([*parts, text[position:]])


def mend(text: str, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return a text with the patches of diagnostics applied, and those whose patches were.

    A patch that touches what an earlier one changes is left for the next time, as a whole; so is one whose diagnostic quotes a
    line that the text does not have any more.

    Args:
        text: the file's text.
        diagnostics: what was found in this text.
        unsafe: take patches too that are a guess.
    """
    lines = text.split("\n")
    edits: list[Edit] = []
    taken: list[Diagnostic] = []
    for found in sorted(diagnostics, key=lambda d: (d.span.start, d.code)):
        patch = found.patch
        if patch is None or not (patch.safe or unsafe) or not _is_of(found, lines):
            continue
        if any(_touches(edit, edits) for edit in patch.edits):
            continue
        for edit in patch.edits:
            insort(edits, edit, key=_place)
        taken.append(found)
    return apply(text, edits), tuple(taken)


def _is_of(found: Diagnostic, lines: Sequence[str]) -> bool:
    return not found.source or (0 < found.span.line <= len(lines) and lines[found.span.line - 1].rstrip("\r") == found.source)


def _place(edit: Edit) -> tuple[int, int]:
    return edit.span.start, edit.span.end


def _touches(edit: Edit, others: Sequence[Edit]) -> bool:
    """Say whether an edit overlaps or meets one of others, which are in order and apart: then it was made for another text."""
    at = bisect_right(others, edit.span.start, key=lambda other: other.span.start)
    before, after = others[max(at - 1, 0) : at], others[at : at + 1]
    return any(one.span.end >= edit.span.start for one in before) or any(one.span.start <= edit.span.end for one in after)


def mend_files(diagnostics: Iterable[Diagnostic]) -> list[Mended]:
    """Return each file that safe patches change, by path; no file is written. Raises OSError."""
    by_path: dict[str, list[Diagnostic]] = {}
    for found in diagnostics:
        if found.patch is not None and found.patch.safe:
            by_path.setdefault(found.span.path, []).append(found)
    mended = []
    for name, found_here in sorted(by_path.items()):
        path = Path(name)
        before = path.read_bytes().decode("utf-8-sig")
        after, taken = mend(before, found_here)
        if taken:
            mended.append(Mended(path, before, after, taken))
    return mended


def write(mended: Mended) -> None:
    """Write a mended file in one step: whoever reads it sees all of the old text or all of the new.

    Raises:
        UsageError: the file can't be written, or is not any more what it was when it was read.
    """
    target = mended.path.resolve()
    try:
        raw = target.read_bytes()
        if raw.decode("utf-8-sig") != mended.before:
            raise UsageError(f"{mended.path}: the file was changed by somebody else in the meantime")
        replace(target, (BOM if raw.startswith(BOM) else b"") + mended.after.encode())
    except OSError as error:
        raise UsageError(f"{mended.path}: {error.strerror}") from error


def replace(target: Path, data: bytes) -> None:
    """Replace a file's bytes in one step, with its permissions. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(target.stat().st_mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
