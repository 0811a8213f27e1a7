"""The verbs of a rule's author: fmt."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from samples import run_command as run
from samples import write_files

LOOSE = 'language 1\n# why\nevent  a\n  "x"\n'
TIDY = 'language 1\n\n# why\nevent a\n  "x"\n'
WRONG = "language 1\nevent a 5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a loose and a tidy rule file."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"my/loose.rule": LOOSE, "my/sub/tidy.rule": TIDY, "my/notes.txt": LOOSE})
    return tmp_path


def type_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Put bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))


def test_fmt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are not laid out are written anew, others are left alone, and a second run changes nothing."""
    tidy = folder / "my" / "sub" / "tidy.rule"
    before = tidy.stat().st_mtime_ns
    assert run(capsys, "fmt", "my") == (0, "changed my/loose.rule\n2 files, 1 changed\n", "")
    assert (folder / "my" / "loose.rule").read_bytes() == TIDY.encode()
    assert (folder / "my" / "notes.txt").read_text(encoding="utf-8") == LOOSE
    assert tidy.stat().st_mtime_ns == before
    assert run(capsys, "fmt", "my", "my/loose.rule") == (0, "2 files, none changed\n", "")


def test_fmt_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check nothing is written, and the exit code says whether something would be."""
    assert run(capsys, "fmt", "--check", "my") == (1, "would change my/loose.rule\n2 files, 1 would change\n", "")
    assert (folder / "my" / "loose.rule").read_text(encoding="utf-8") == LOOSE
    assert run(capsys, "fmt", "--check", "my/sub") == (0, "1 file, none would change\n", "")


def test_fmt_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --diff the change is shown and nothing is written; alone it is no failure."""
    (folder / "my" / "loose.rule").write_text(LOOSE.replace("event  a", "event a  ").replace("why", "\x1b[2J"), encoding="utf-8")
    code, out, err = run(capsys, "fmt", "--diff", "my")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == ["--- my/loose.rule", "+++ my/loose.rule", "@@ -1,4 +1,5 @@"]
    assert out.splitlines()[3:] == [" language 1", "+", " # \\x1b[2J", "-event a  ", "+event a", '   "x"']
    assert run(capsys, "fmt", "--diff", "--check", "my")[0] == 1
    assert run(capsys, "fmt", "--diff", "my/sub") == (0, "", "")


def test_fmt_of_the_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without paths the rules of the project are meant; without a project something must be named."""
    assert run(capsys, "fmt")[0] == 2
    write_files(folder, {"rulecheck.toml": 'rules = ["my/sub"]\n'})
    assert run(capsys, "fmt") == (0, "1 file, none changed\n", "")


def test_fmt_leaves_mistakes_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that does not parse stays as it is and is explained; the others are laid out."""
    write_files(folder, {"my/wrong.rule": WRONG})
    (folder / "my" / "bytes.rule").write_bytes(b"language 1\n\xff\n")
    code, out, err = run(capsys, "fmt", "my")
    assert (code, out) == (2, "changed my/loose.rule\n4 files, 1 changed\n")
    assert "error[E0105]: this file is not UTF-8 text\n  --> my/bytes.rule:2:1" in err
    assert "  --> my/wrong.rule:2:9" in err
    assert (folder / "my" / "wrong.rule").read_text(encoding="utf-8") == WRONG
    assert run(capsys, "fmt", "--check", "my/wrong.rule")[0] == 2


@pytest.mark.parametrize("paths", [("nowhere",), ("empty",), ("-", "my")])
def test_fmt_usage(folder: Path, capsys: pytest.CaptureFixture[str], paths: tuple[str, ...]) -> None:
    """A path that is not there, a folder without rules, and standard input beside files are errors."""
    (folder / "empty").mkdir()
    code, out, err = run(capsys, "fmt", *paths)
    assert (code, out) == (2, "")
    assert err.startswith("rulecheck: ")


def test_fmt_of_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads standard input and writes what a file would hold, laid out already or not, in UTF-8 whatever the locale."""
    for given in (LOOSE, TIDY):
        type_in(monkeypatch, given.replace("why", "wäre").encode())
        assert run(capsys, "fmt", "-") == (0, TIDY.replace("why", "wäre"), "")
    type_in(monkeypatch, LOOSE.encode())
    assert run(capsys, "fmt", "-", "--check") == (1, "", "")
    type_in(monkeypatch, LOOSE.encode())
    assert run(capsys, "fmt", "-", "--diff")[1].startswith("--- <stdin>\n+++ <stdin>\n")
    type_in(monkeypatch, WRONG.encode())
    code, out, err = run(capsys, "fmt", "-")
    assert (code, out) == (2, "")
    assert "  --> <stdin>:2:9" in err
