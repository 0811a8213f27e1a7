"""The command as a whole: verbs, exit codes, errors in one sentence, and what it loads."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from denpex_rules import __version__, cli, verbs
from samples import RULE, workshop, write_files
from samples import run_command as run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a pack, logs and a case."""
    monkeypatch.chdir(workshop(tmp_path))
    return tmp_path


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is printed alone."""
    assert run(capsys, "--version") == (0, f"rulecheck {__version__}\n", "")


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """The help names every verb with one line about it, and each verb has its own help."""
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for verb in verbs.VERBS:
        assert f"\n  {verb} " in out
        code, own, _ = run(capsys, verb, "--help")
        assert code == 0
        assert own.startswith(f"Usage: rulecheck {verb} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("scan",),
        ("scan", "logs", "--no-such-option"),
        ("scan", "nowhere", "--rules", "my", "--no-pack"),
        ("scan", "logs", "--no-pack"),
        ("scan", "logs", "--rules", "nowhere", "--no-pack"),
        ("scan", "logs", "--program", "logs/rank0.log"),
        ("scan", "logs", "--program", "nowhere"),
        ("scan", "logs", "--rules", "my", "--program", "x"),
        ("scan", "logs", "--rules", "my", "--no-pack", "--skew", "5"),
        ("scan", "logs", "--rules", "my", "--no-pack", "--format", "yaml"),
        ("explain", "storage.broken_shrd", "logs", "--rules", "my", "--no-pack"),
        ("show", "storage.broken_shrd", "--rules", "my", "--no-pack"),
        ("test", "nowhere", "--rules", "my", "--no-pack"),
        ("check", "nowhere"),
        ("compile", "-o", "nowhere/x", "--rules", "my", "--no-pack"),
        ("compile",),
        (),
    ],
    ids=" ".join,
)
def test_usage_errors(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    """A command that can't be carried out exits with 2 and says why on standard error, without a traceback."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_error_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error of the library is one line that starts with the command's name."""
    assert run(capsys, "show", "storage.broken_shrd", "--rules", "my", "--no-pack")[2] == (
        "rulecheck: unknown rule storage.broken_shrd; did you mean storage.broken_shard?\n"
    )


def test_rule_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules with mistakes stop a scan with 2; every mistake is shown with its place, terminal escapes in it neutralised."""
    bad = RULE.replace("within 1h", "within 1").replace("A rank gave up", "A rank \x1b[2J gave up").replace("  class ", "  clas ")
    write_files(folder, {"my/storage/broken_shard.rule": bad})
    code, out, err = run(capsys, "scan", "logs", "--rules", "my", "--no-pack")
    assert (code, out) == (2, "")
    assert err.count("error[E") >= 2
    assert "my/storage/broken_shard.rule:12:" in err
    assert "\x1b" not in err


def test_no_verb(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a verb the project's rules are checked and its cases run; the exit code is the worse of both."""
    write_files(folder, {"rulecheck.toml": 'rules = ["my"]\ncases = ["cases"]\n'})
    code, out, _ = run(capsys)
    assert (code, out) == (0, "1 rule: no mistakes\n1 case: all pass\n")
    case = folder / "cases/storage/broken_shard/two_ranks/case.toml"
    case.write_text(case.read_text().replace("rank = 5", "rank = 4"))
    code, out, _ = run(capsys)
    assert code == 1
    assert "initiator missed: rank 4" in out
    write_files(folder, {"my/storage/broken_shard.rule": RULE.replace("1h", "1")})
    assert run(capsys)[0] == 2


def process(*arguments: str, folder: Path, stdout: int) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own."""
    command = [sys.executable, "-m", "denpex_rules", *arguments]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who ignores it leaves that to children
    try:
        return subprocess.Popen(command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, stdout=stdout, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)


def test_closed_pipe(folder: Path) -> None:
    """A reader that goes away is no error worth a word."""
    read, write = os.pipe()
    os.close(read)
    child = process("scan", "logs", "--rules", "my", "--no-pack", "--format", "json", folder=folder, stdout=write)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert err == b""
    assert child.returncode not in {0, 2}


def test_interrupt(folder: Path) -> None:
    """Ctrl-C ends the command with 130 and without a traceback."""
    endless = folder / "endless.program"
    os.mkfifo(endless)
    child = process("scan", "logs", "--program", "endless.program", folder=folder, stdout=subprocess.PIPE)
    pipe = open_once_read(endless)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    os.close(pipe)
    assert child.returncode == 130
    assert b"Traceback" not in err


def open_once_read(path: Path) -> int:
    """Open a named pipe for writing as soon as the command reads it."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def test_saved_program_needs_no_parser(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scan with a saved program works without loading the parser."""
    assert run(capsys, "compile", "-o", "my.program", "--rules", "my", "--no-pack")[0] == 0
    scan = "cli.main(['scan', 'logs', '--program', 'my.program'])"
    say = "print(end.code, 'lark' in sys.modules)"
    ask = f"import sys\nfrom denpex_rules import cli\ntry:\n    {scan}\nexcept SystemExit as end:\n    {say}"
    done = subprocess.run([sys.executable, "-c", ask], cwd=folder, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.endswith("1 False\n")


def loaded(folder: Path, *arguments: str, before: str = "sys") -> tuple[str, set[str]]:
    """Return what a command prints, and the modules that it loads beyond those which importing `before` loads."""
    ask = (
        f"import {before}, sys\nknown = set(sys.modules)\nfrom denpex_rules import cli\ntry:\n    cli.main({list(arguments)})\n"
        "except SystemExit:\n    print('', *sorted(set(sys.modules) - known), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", ask], cwd=folder, stdout=subprocess.PIPE, check=True, text=True)
    out, _, names = done.stdout.rpartition("\n\n")
    return out, set(names.split())


def test_version_is_light(tmp_path: Path) -> None:
    """The version is printed without loading anything from outside the standard library, or a second module of this package."""
    out, names = loaded(tmp_path, "--version")
    assert out == f"rulecheck {__version__}"
    heavy = {
        "typer",
        "click",
        "pydantic",
        "rich",
        "attr",
        "attrs",
        "cattrs",
        "ahocorasick",
        "re2",
        "lark",
        "json",
        "importlib.metadata",
    }
    assert names.isdisjoint(heavy)
    assert {name for name in names if name.startswith("denpex_rules")} == {"denpex_rules", "denpex_rules.cli"}


def test_version_that_nobody_reads() -> None:
    """A reader that goes away is no error worth a word, also before anything is loaded."""
    read, write = os.pipe()
    os.close(read)
    child = process("--version", folder=Path(), stdout=write)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (1, b"")


def test_small_scan_is_light(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scan loads nothing that it does not need: no colours, bars, processes, parser, large automaton, or deeds of other verbs."""
    assert run(capsys, "compile", "-o", "my.program", "--rules", "my", "--no-pack")[0] == 0
    out, names = loaded(folder, "scan", "logs", "--program", "my.program", before="typer.main")
    assert "A rank gave up" in out
    others = {
        "rich.console",
        "rich.progress",
        "lark",
        "hyperscan",
        "tomllib",
        "statistics",
        "multiprocessing",
        "concurrent.futures",
    }
    own = {
        "gather",
        "compiler",
        "parser",
        "library",
        "lint",
        "cases",
        "follow",
        "bookmark",
        "scanfile",
        "dossier",
        "reasoning",
        "exchange",
    }
    commands = {f"commands_{name}" for name in ("follow", "check", "rules", "pack", "lsp", "draft", "backtest", "author")}
    assert names & (others | {f"denpex_rules.{name}" for name in own | commands}) == set()
    assert {"denpex_rules.scanner", "denpex_rules.commands_logs"} <= names


def test_any_encoding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that the terminal's encoding lacks is shown as escapes, not as a crash."""
    raw = io.BytesIO()
    write_files(folder, {"my/storage/broken_shard.rule": RULE.replace("A rank", "Ä rank")})
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with pytest.raises(SystemExit) as caught:
        cli.main(["scan", "logs", "--rules", "my", "--no-pack"])
    assert caught.value.code == 1
    assert b"\\xc4 rank gave up" in raw.getvalue()
