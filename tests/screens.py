"""The pictures of terminals in the documentation: what `rulecheck` prints in colour, drawn as SVG.

An image whose text is a command is such a screen: `![$ rulecheck scan logs](screens/scan.svg)`. The command runs in a terminal of
100 columns, in a copy of what the project ships. With `| head -n 30` behind it, the picture ends after so many lines.

As a script, `python tests/screens.py --write` draws all of them again.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from attrs import frozen
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

import examples

COLUMNS = 100
CELL = 12.2  # how wide rich draws a column
IMAGE = re.compile(r"!\[\$ (?P<command>rulecheck [^\]]+?)(?: \| head -n (?P<lines>\d+))?\]\((?P<target>[^)]+\.svg)\)")
SVG = "{http://www.w3.org/2000/svg}"

# rich's own frame asks another site for its font: a page here asks nobody for anything.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 18px; font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@frozen
class Screen:
    """One picture: the page that shows it, the command, after how many lines it ends (None: never), where it is kept."""

    page: str
    command: str
    lines: int | None
    path: Path

    def __str__(self) -> str:
        return f"{self.page}:{self.path.name}"


def screens() -> Iterator[Screen]:
    """Yield every screen of every page."""
    for page in examples.pages():
        name = page.relative_to(examples.ROOT).as_posix()
        for match in IMAGE.finditer(page.read_text(encoding="utf-8")):
            lines = int(match["lines"]) if match["lines"] else None
            yield Screen(name, match["command"], lines, (page.parent / match["target"]).resolve())


def capture(screen: Screen, folder: Path) -> Text:
    """Run the command of a screen in a terminal, in `folder`, and return what it prints, with its colours."""
    main, terminal = pty.openpty()
    env = {**examples.environment(folder), "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    del env["NO_COLOR"]
    with subprocess.Popen(
        ["bash", "-c", screen.command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL
    ):
        os.close(terminal)
        printed = b"".join(_chunks(main))
    os.close(main)
    lines = printed.decode("utf-8").replace("\r\n", "\n").rstrip("\n").split("\n")
    kept = lines if screen.lines is None else lines[: screen.lines]
    return Text("\n").join(Text.from_ansi(line) for line in kept)


def _chunks(main: int) -> Iterator[bytes]:
    """Yield what a terminal's other end writes until it is closed, which Linux tells by an error."""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def draw(screen: Screen, text: Text) -> str:
    """Return a picture of a terminal that shows `text`."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(text, soft_wrap=True)
    return console.export_svg(title=screen.command, theme=MONOKAI, code_format=FRAME, unique_id=screen.path.stem)


def text_of(picture: str) -> list[str]:
    """Return the lines of text that a picture shows."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for part in ET.fromstring(picture).iter(f"{SVG}text"):
        if part.get("clip-path"):  # the title has none
            rows.setdefault(float(part.attrib["y"]), []).append((float(part.attrib["x"]), part.text or ""))
    return [_joined(rows[y]) for y in sorted(rows)]


def _joined(parts: list[tuple[float, str]]) -> str:
    """Return the text of a row from its parts, each with its place; blanks between them are not drawn."""
    row = ""
    for x, text in sorted(parts):
        row = row.ljust(round(x / CELL)) + text.replace("\xa0", " ")
    return row.rstrip()


def main() -> None:
    """Draw every screen again when asked to with `--write`."""
    if sys.argv[1:] != ["--write"]:
        raise SystemExit(__doc__)
    for screen in screens():
        with tempfile.TemporaryDirectory() as name:
            examples.workshop(Path(name))
            picture = draw(screen, capture(screen, Path(name)))
        screen.path.parent.mkdir(exist_ok=True)
        screen.path.write_text(picture, encoding="utf-8")
        print(screen)


if __name__ == "__main__":
    main()
