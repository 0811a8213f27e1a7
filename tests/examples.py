"""The examples of the documentation, as blocks that can be run.

Three conventions make a page runnable from top to bottom in one folder, a copy of what the project ships:

- a block with a title is a file: `title="rules/my/first.rule"` writes it there;
- a `console` block is a terminal: lines after `$ ` are commands, the rest is what they print. A line `...` stands for any lines,
  `…` for any text within one. A command that ends with a code other than 0 is followed by `$ echo $?`;
- a `python` block is a program of its own.

As a script, `python tests/examples.py --write` runs all pages and replaces printed output that is no longer true.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("grammar", "rules", "tests/rules", "tests/healthy", "pyproject.toml")

FENCE = re.compile(r'(?P<indent> *)```(?P<language>\w+)(?: +title="(?P<title>[^"]+)")? *')
ECHO_STATUS = "echo $?"

# What a fragment of a rule is completed with: a statement that the fragment has itself is left out.
FRAME = (
    ("title", 'title "An example"'),
    ("class", "class gpu.fell_off_bus"),
    ("event lost", 'event lost error in kernel "NVRM: Xid (PCI:{device:pci}): 79,"'),
    ("per", "per job within 2h"),
    ("require", "require lost"),
)
CLOSING = (
    ("blame", "blame device lost.device"),
    ("do", 'do "Reset the host."'),
    ("verify", 'verify "nvidia-smi"'),
)


@frozen
class Block:
    """One fenced block: `line` is that of its first line of text, from 1."""

    page: str
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@frozen
class Command:
    """One command of a console block and the lines that are shown under it; `line` is that of the command in its page."""

    line: int
    text: str
    shown: tuple[str, ...]


@frozen
class Result:
    """What a command printed (both streams), and its exit code."""

    output: str
    status: int


def pages() -> list[Path]:
    """Return every page that may hold examples."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    name = page.relative_to(ROOT).as_posix()
    opening: re.Match[str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if opening is None:
            opening, body = FENCE.fullmatch(line), []
        elif line.strip() == "```":
            text = "".join(f"{kept.removeprefix(opening['indent'])}\n" for kept in body)
            yield Block(name, number - len(body), opening["language"], opening["title"] or "", text)
            opening = None
        else:
            body.append(line)
    if opening is not None:
        raise ValueError(f"{name}: a block is never closed")


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            found.append(Command(number, line.removeprefix("$ "), ()))
        elif found:
            last = found[-1]
            found[-1] = Command(last.line, last.text, (*last.shown, line))
        else:
            raise ValueError(f"{block}: a console block starts with a command")
    return found


def complete(fragment: str) -> str:
    """Return a fragment (statements of a rule) as a whole rule file; a whole file is returned as it is."""
    if re.search(r"^language ", fragment, re.MULTILINE):
        return fragment
    uses = "".join(f"{line}\n" for line in fragment.splitlines() if line.startswith("use "))
    body = [line for line in fragment.splitlines() if not line.startswith("use ")]
    needless = {"event lost"} if "require" in fragment and not re.search(r"\blost\b", fragment) else set()

    def lacking(statements: tuple[tuple[str, str], ...]) -> list[str]:
        missing = [(key, text) for key, text in statements if not any(re.match(rf"\s*{key}\b", line) for line in body)]
        return [text for key, text in missing if key not in needless]

    return "\n".join([f"language 1\n{uses}rule example.fragment {{", *lacking(FRAME), *body, *lacking(CLOSING), "}"])


def workshop(folder: Path) -> None:
    """Fill `folder` with what the project ships, and with a `rulecheck` and a `python3` that are this interpreter's."""
    for name in SHIPPED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.is_file():
            shutil.copy(source, target)
    (folder / ".bin").mkdir()
    for name, runs in (("rulecheck", "-m denpex_rules"), ("python3", "")):
        tool = folder / ".bin" / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {runs} "$@"\n', encoding="utf-8")
        tool.chmod(0o755)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of an example: a plain terminal of 100 columns in UTC."""
    kept = {"HOME": os.environ.get("HOME", str(folder))}
    if "PYTHONPATH" in os.environ:  # its parts may be relative to the folder that the tests run in
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(part).resolve()) for part in os.environ["PYTHONPATH"].split(os.pathsep))
    plain = {"COLUMNS": "100", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"}
    return {**kept, **plain, "PATH": f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}"}


def execute(arguments: list[str], folder: Path) -> Result:
    """Run one example in `folder`."""
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return Result(done.stdout.decode("utf-8", "replace"), done.returncode)


def play(block: Block, folder: Path) -> Iterator[tuple[Command, Result]]:
    """Run the commands of a console block, each with the exit code of the one before as `$?`."""
    status = 0
    for command in commands(block):
        result = execute(["bash", "-c", f"(exit {status})\n{command.text}"], folder)
        status = result.status
        yield command, result


def agrees(shown: tuple[str, ...], output: str) -> bool:
    """Say whether the shown lines are what was printed, wildcards filled in."""
    pattern = ""
    for line in _trimmed("\n".join(shown)):
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace("…", ".*") + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(output))) is not None


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def write_file(block: Block, folder: Path) -> None:
    """Write a titled block to the place that its title names, inside `folder`."""
    target = folder / block.title
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.text, encoding="utf-8")


def refresh(page: Path, folder: Path) -> bool:
    """Replace printed output of `page` that is no longer true; say whether anything changed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    changes: list[tuple[int, int, list[str]]] = []
    for block in blocks(page):
        if block.title:
            write_file(block, folder)
        if block.language != "console":
            continue
        for command, result in play(block, folder):
            if command.shown and not agrees(command.shown, result.output):
                changes.append((command.line, command.line + len(command.shown), _trimmed(result.output)))
    for start, end, output in reversed(changes):
        lines[start:end] = output
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return bool(changes)


def main() -> None:
    """Refresh every page when asked to with `--write`."""
    if sys.argv[1:] != ["--write"]:
        raise SystemExit(__doc__)
    for page in pages():
        with tempfile.TemporaryDirectory() as name:
            workshop(Path(name))
            if refresh(page, Path(name)):
                print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
