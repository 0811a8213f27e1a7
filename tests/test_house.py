"""The house rules that no other tool checks: sizes, names, docstrings, one test file a module, layers that match the modules."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "denpex_rules"
MODULES = sorted(PACKAGE.glob("*.py"))
TEST_FILES = sorted((ROOT / "tests").rglob("test_*.py"))
PYTHON = [*MODULES, *(path for folder in ("tests", "bench", "docs") for path in sorted((ROOT / folder).rglob("*.py")))]
TEXTS = [
    *PYTHON,
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "rules").rglob("*.rule"),
    *(ROOT / "grammar").iterdir(),
    ROOT / "pyproject.toml",
    ROOT / ".ci" / "run",
]
HARD_LIMIT = 500
LONGEST_FUNCTION = 50

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """Return a path as test ids show it."""
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    """Yield every function of a file, nested ones too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_module_says_what_it_is(path: Path) -> None:
    """Every Python file starts with a docstring."""
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_size(path: Path) -> None:
    """No module has more than 500 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= HARD_LIMIT


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_function_size(path: Path) -> None:
    """No function of the package has more than 50 lines."""
    long = [f.name for f in functions(path) if (f.end_lineno or f.lineno) - f.lineno + 1 > LONGEST_FUNCTION]
    assert long == []


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_imports_stand_at_the_top(path: Path) -> None:
    """Nothing is imported inside a function."""
    hidden = [
        f"{f.name}:{node.lineno}" for f in functions(path) for node in ast.walk(f) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert hidden == []


@pytest.mark.parametrize("path", [p for p in MODULES if p.name != "__init__.py"], ids=name_of)
def test_no_import_for_types_only(path: Path) -> None:
    """Only the package's own `__init__` may hide an import from the running program: elsewhere that would hide a cycle."""
    assert "TYPE_CHECKING" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [p.stem for p in MODULES if not p.stem.startswith("__")])
def test_module_has_tests(module: str) -> None:
    """Every module has a test file of its name."""
    assert (ROOT / "tests" / "unit" / f"test_{module}.py").is_file()


@pytest.mark.parametrize("path", TEST_FILES, ids=name_of)
def test_tests_say_what_they_expect(path: Path) -> None:
    """Every test has a docstring."""
    mute = [f.name for f in functions(path) if f.name.startswith("test_") and not ast.get_docstring(f)]
    assert mute == []


def test_layers_match_the_modules() -> None:
    """The layers in pyproject.toml name every module once, and nothing else."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c["type"] == "layers")
    listed = [name for layer in layers for name in re.findall(r"\w+", layer)]
    assert sorted(listed) == sorted(p.stem for p in MODULES if p.stem != "__init__")


# The words are split here so that this file does not fail its own test.
UNFINISHED = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X:", "raise Not" + "ImplementedError")))
MACHINE = re.compile("|".join(("/wo" + r"rk/(?:main|scratch|shared)", "/ro" + r"ot/", "/ho" + r"me/\w", r"C:\\" + "Users")))


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_finished_and_movable(path: Path) -> None:
    """No file says that it is unfinished, and none names a path of somebody's machine."""
    text = path.read_text(encoding="utf-8")
    assert UNFINISHED.findall(text) == []
    assert MACHINE.findall(text) == []


def test_no_utilities() -> None:
    """No module is named for being useful."""
    assert {p.stem for p in MODULES}.isdisjoint({"utils", "util", "helpers", "common", "misc"})
