#!/usr/bin/env python3
"""Measure the language server: how long each request takes on a rule file of 2,000 lines, right after a change and again.

`python bench/lsp.py` prints a table in milliseconds and exits with 1 where a request takes more than 100. The file is made of the
shipped rules. It is changed before each request: a letter at its top, in a rule in its middle, and so that a statement no longer
parses. Times are of the processor and of the analysis alone: the change is part of them, the way to the editor is not.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable

from lsprotocol import types as lsp

from denpex_rules.desk import Desk
from denpex_rules.shipped import shipped

LIMIT_MS = 100.0
URI = "untitled:bench"
Ask = Callable[[Desk, lsp.Position, lsp.Range], object]

REQUESTS: dict[str, Ask] = {
    "completion": lambda desk, at, _: desk.complete(URI, at),
    "hover": lambda desk, at, _: desk.hover(URI, at),
    "definition": lambda desk, at, _: desk.definition(URI, at),
    "references": lambda desk, at, _: desk.references(URI, at, defining=True),
    "rename": lambda desk, at, _: desk.rename(URI, at, "renamed_by_bench"),
    "symbols": lambda desk, _, __: desk.symbols(URI),
    "hints, 60 lines": lambda desk, at, _: desk.hints(URI, lsp.Range(at, lsp.Position(at.line + 60, 0))),
    "hints, all": lambda desk, _, whole: desk.hints(URI, whole),
    "actions": lambda desk, _, whole: desk.actions(URI, whole),
    "format": lambda desk, _, __: desk.format(URI),
    "mistakes": lambda desk, _, __: desk.mistakes(URI),
}


def made(lines: int) -> str:
    """Return one file of about so many lines, made of the shipped rules and what they use."""
    used: dict[str, str] = {}
    bodies: list[str] = []
    count = 0
    for path in sorted(shipped("rules").rglob("*.rule")):
        text = path.read_text(encoding="utf-8")
        start = text.find("\nrule ") + 1
        if not start:
            continue
        parts = [
            part for use in re.findall(r"^use ([^\n]+(?:,\s*\n[^\n]+)*)", text[:start], re.MULTILINE) for part in use.split(",")
        ]
        names = {part.split()[-1].split(".")[-1]: " ".join(part.split()) for part in parts}
        if any(used.get(name, part) != part for name, part in names.items()):
            continue  # calls another building block by a name that is taken
        used |= names
        bodies.append(text[start:])
        count += text[start:].count("\n") + 1
        if count >= lines:
            break
    return "language 1\nuse " + ",\n  ".join(used.values()) + "\n\n" + "\n".join(bodies)


def changes(text: str) -> dict[str, Callable[[int], str]]:
    """Return what an author may have typed last, by name; each time it is another text."""
    middle = text.index("\n  require ", len(text) // 2)
    return {
        "a broken statement": lambda n: f"{text[:middle]}\n  confirm x{'x' * n} whre{text[middle:]}",
        "at the top": lambda n: f"language 1\n#{'x' * n}{text.removeprefix('language 1')}",
        "in the middle": lambda n: f"{text[:middle]} #{'x' * n}{text[middle:]}",
    }


def timed(work: Callable[[], object]) -> float:
    """Return how many milliseconds of the processor a work takes."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="How long the language server takes for each request.")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    text = made(options.lines)
    desk = Desk()
    start = timed(lambda: desk.start([], "utf-16"))
    first = timed(lambda: (desk.open(URI, text), desk.mistakes(URI), desk.workspace.outline(URI)))
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(text.count("\n") + 9, 0))
    hints = timed(lambda: desk.hints(URI, whole))
    print(f"{text.count(chr(10))} lines; start {start:.0f} ms, first look {first:.0f} ms, first hints for all {hints:.0f} ms\n")
    print(f"{'best of ' + str(options.runs) + ', ms':<18}" + "".join(f"{name:>22}" for name in [*changes(text), "unchanged"]))
    slowest = 0.0
    for name, ask in REQUESTS.items():
        row = [_after(desk, change, ask, whole, options.runs) for change in changes(text).values()]
        row.append(min(timed(lambda: ask(desk, _place(desk), whole)) for _ in range(options.runs)))  # noqa: B023 - called at once
        slowest = max(slowest, *row)
        print(f"{name:<18}" + "".join(f"{ms:>22.1f}" for ms in row))
    print(f"{'advice':<18}{timed(desk.advice(URI)):>22.1f}   (in a thread of its own, when the author rests)")
    print(f"\nslowest request: {slowest:.1f} ms, limit {LIMIT_MS:.0f} ms")
    return int(slowest > LIMIT_MS)


def _after(desk: Desk, change: Callable[[int], str], ask: Ask, whole: lsp.Range, runs: int) -> float:
    """Return the best time of a request that follows a change, the change included."""
    times = []
    for n in range(runs):
        desk.open(URI, change(n))
        place = _place(desk)
        times.append(timed(lambda: ask(desk, place, whole)))  # noqa: B023 - called at once
    return min(times)


def _place(desk: Desk) -> lsp.Position:
    """Return a place on the name of an event in the middle of the file."""
    text = desk.workspace.text(URI)
    offset = re.compile(r"\n  require (?:\w+ = )?(?:last |first )?").search(text, len(text) // 2)
    assert offset is not None
    line = text.count("\n", 0, offset.end())
    return lsp.Position(line, offset.end() - text.rfind("\n", 0, offset.end()))


if __name__ == "__main__":
    sys.exit(main())
