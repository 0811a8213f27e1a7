"""Every example in the README and the documentation is true: rules compile, programs run, terminals show what is printed."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import denpex_rules
import examples
import screens
from denpex_rules.errors import CODES
from denpex_rules.layout import format_text
from examples import ROOT, Block, complete

BLOCKS = [block for page in examples.pages() for block in examples.blocks(page)]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "denpex"], ids=str)
def test_rule(block: Block) -> None:
    """A rule in the documentation loads and compiles; a fragment does inside a minimal rule."""
    program = denpex_rules.compile_rules(denpex_rules.load_text(complete(block.text)))
    assert program is not None


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "denpex" and b.text.startswith("language ")], ids=str)
def test_rule_layout(block: Block) -> None:
    """A whole rule in the documentation has the layout that `rulecheck fmt` gives it."""
    assert format_text(block.text, str(block)) == block.text


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page(page: Path, tmp_path: Path) -> None:
    """A page can be followed from top to bottom: its files, its programs, and what its terminals show."""
    examples.workshop(tmp_path)
    for block in examples.blocks(page):
        if block.title:
            examples.write_file(block, tmp_path)
        if block.language == "python":
            result = examples.execute([sys.executable, "-W", "error", "-c", block.text], tmp_path)
            assert result.status == 0, f"{block}\n{result.output}"
        if block.language == "console":
            follow(block, tmp_path)


def follow(block: Block, folder: Path) -> None:
    """Assert that each command of a console block prints what is shown and ends as is said."""
    unsaid = ""
    for command, result in examples.play(block, folder):
        where = f"{block.page}:{command.line}: {command.text}"
        crashed = re.search(r"^Traceback \(most recent call last\)", result.output, re.MULTILINE)  # one of a log is indented
        assert crashed is None, f"{where}\n{result.output}"
        assert not unsaid or command.text == examples.ECHO_STATUS, f"exit code is not shown: {unsaid}"
        true = not command.shown or examples.agrees(command.shown, result.output)
        assert true, f"{where}\n{result.output}"
        unsaid = f"{where}\n{result.output}" if result.status else ""
    assert not unsaid, f"exit code is not shown: {unsaid}"


CHECKERS = {
    "bash": lambda text: subprocess.run(["bash", "-n"], input=text, text=True, check=True),
    "json": json.loads,
    "py": lambda text: compile(text, "<page>", "exec"),
    "toml": tomllib.loads,
}


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in CHECKERS], ids=str)
def test_form(block: Block) -> None:
    """What can't be run here, such as a command for a cluster or a file for another program, has at least no syntax error."""
    CHECKERS[block.language](block.text)


def test_options(tmp_path: Path) -> None:
    """A command of `rulecheck` that is shown anywhere on a page, run or not, names a verb and options that exist."""
    texts = [page.read_text(encoding="utf-8") for page in examples.pages()]
    calls = [call for text in texts for call in re.findall(r"\brulecheck ([a-z]+)([^\n`|>&;]*)", text)]
    used: dict[str, set[str]] = {}
    for verb, rest in calls:
        used.setdefault(verb, set()).update(re.findall(r"(?<=\s)--[a-z][a-z-]*", rest))
    helps = {verb: examples.execute([sys.executable, "-m", "denpex_rules", verb, "--help"], tmp_path) for verb in used}
    words = {verb for verb, shown in helps.items() if shown.status}  # prose: "rulecheck finds them"
    assert {verb: used[verb] for verb in words if used[verb]} == {}
    unknown = {verb: used[verb] - set(re.findall(r"--[a-z][a-z-]*", helps[verb].output)) for verb in used.keys() - words}
    assert {verb: names for verb, names in unknown.items() if names - {"--help"}} == {}
    assert used.keys() - words >= {"scan", "explain", "check", "test", "fmt", "new", "backtest", "compile", "correlate"}


def test_examples_exist() -> None:
    """The collection of examples finds blocks of every language that it runs, in the README and in the documentation."""
    found = {(block.page == "README.md", block.language) for block in BLOCKS}
    assert found >= {(True, "denpex"), (True, "python"), (True, "bash"), (False, "denpex"), (False, "python"), (False, "console")}
    assert "rule" not in {block.language for block in BLOCKS}  # the highlighter's name for rules is denpex


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        (("a", "b"), "a\nb\n", True),
        (("a", "..."), "a\nb\nc\n", True),
        (("...", "c"), "a\nb\nc\n", True),
        (("took … s",), "took 1.5 s\n", True),
        (("a",), "a\nb\n", False),
        (("b", "a"), "a\nb\n", False),
        (("...", "d"), "a\nb\nc\n", False),
        (("x.y",), "xzy\n", False),
    ],
)
def test_comparison(shown: tuple[str, ...], output: str, *, same: bool) -> None:
    """Shown lines are compared line by line; only the two wildcards are loose."""
    assert examples.agrees(shown, output) is same


@pytest.mark.parametrize("name", ["scan", "test"])
def test_readme_commands(name: str) -> None:
    """The README marks its two commands, each one line, for CI to run word for word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"^<!-- command: {name} -->\n```bash\n(.*)\n```$", text, re.MULTILINE)
    assert len(found) == 1
    assert f"readme {name}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_links() -> None:
    """Every relative link in the README and CONTRIBUTING leads to a file (mkdocs checks those of the pages)."""
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_generated_parts() -> None:
    """Every marked place of a page has a generator, every generator a place, and no diagnostic code is left out."""
    hooks = runpy.run_path(str(ROOT / "docs" / "mkdocs" / "hooks.py"))
    texts = [page.read_text(encoding="utf-8") for page in examples.pages()]
    marks = {name for text in texts for name in re.findall(r"<!-- generated: (\w+) -->", text)}
    assert marks == set(hooks["GENERATED"])
    page = hooks["on_page_markdown"]("".join(f"<!-- generated: {name} -->\n" for name in sorted(marks)))
    assert "<!-- generated:" not in page
    assert [code for code in CODES if f"`{code}`" not in page] == []
    public = set(denpex_rules.__all__) - {"__version__"}
    assert [name for name in sorted(public) if f"::: denpex_rules.{name}\n" not in page] == []
    assert (ROOT / "grammar" / "denpex.lark").read_text(encoding="utf-8") in page


@pytest.mark.parametrize("screen", list(screens.screens()), ids=str)
def test_screen(screen: screens.Screen, tmp_path: Path) -> None:
    """A picture of a terminal shows what its command prints now, with colours; `python tests/screens.py --write` draws it again."""
    examples.workshop(tmp_path)
    shown = screens.capture(screen, tmp_path)
    kept = screen.path.read_text(encoding="utf-8")
    assert screens.text_of(kept) == [line.rstrip() for line in shown.plain.split("\n")]
    assert shown.spans  # the command saw a terminal
    assert "@font-face" not in kept  # nothing is fetched from another site
    assert "url(http" not in kept


def test_screens_exist() -> None:
    """The documentation shows `scan` and `explain --incident` as they look in a terminal, and every picture is shown."""
    found = {screen.path for screen in screens.screens()}
    assert {screen.command.split()[1] for screen in screens.screens()} >= {"scan", "explain"}
    assert found == set((ROOT / "docs").rglob("*.svg"))
