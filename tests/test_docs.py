"""Every example in the README and the documentation is true: rules compile, programs run, terminals show what is printed."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

import denpex_rules
import examples
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
        assert "Traceback (most recent call last)" not in result.output, f"{where}\n{result.output}"
        assert not unsaid or command.text == examples.ECHO_STATUS, f"exit code is not shown: {unsaid}"
        true = not command.shown or examples.agrees(command.shown, result.output)
        assert true, f"{where}\n{result.output}"
        unsaid = f"{where}\n{result.output}" if result.status else ""
    assert not unsaid, f"exit code is not shown: {unsaid}"


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
    assert (ROOT / "grammar" / "denpex.lark").read_text(encoding="utf-8") in page
