"""A draft on disk: where it goes, the cases that prove it, and that what fails leaves nothing behind."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from drafting import AGAIN, HEALTHY, LOGS, load_once, logs, marks, shipped

from denpex_rules import filing
from denpex_rules.cases import read_case
from denpex_rules.draft import Draft, draft
from denpex_rules.errors import UsageError
from denpex_rules.filing import Home, home, put
from denpex_rules.project import find_project
from samples import write_files

BYTES = {name: text.encode() for name, text in LOGS.items()}
PATH = "application.shard_checksum_mismatch"


@pytest.fixture(autouse=True)
def _pack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the shipped pack once for all tests."""
    load_once(monkeypatch)


@pytest.fixture
def made(tmp_path: Path) -> Draft:
    """The draft of the shared failure."""
    source = logs(tmp_path / "source")
    found = marks(source, "logs/rank5.log:2", "logs/rank0.log:2")
    return draft(found, shipped(), healthy=[AGAIN], cls="data.worker_exception")


def everything(folder: Path) -> list[str]:
    """Return all that a folder holds."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_home(tmp_path: Path) -> None:
    """A draft goes to the folders that the project names, else to two of its own and a project file that names them."""
    assert home(tmp_path) == Home(tmp_path / "rules", tmp_path / "cases", tmp_path / "rulecheck.toml")
    write_files(tmp_path, {"acme/x.rule": "", "proofs/x": "", "rulecheck.toml": 'rules = ["acme"]\ncases = ["proofs"]\n'})
    assert home(tmp_path) == Home(tmp_path / "acme", tmp_path / "proofs", None)


def test_put(tmp_path: Path, made: Draft) -> None:
    """The rule, a case that it must recognise, and a near miss are written, and the project file is one that works."""
    folder = tmp_path / "work"
    filed = put(made, home(folder), BYTES, {"again.log": HEALTHY.encode()})
    assert filed.rule == folder / "rules" / "application" / "shard_checksum_mismatch.rule"
    assert [path.name for path in filed.cases] == ["hit", "near_miss"]
    assert [d.code for d in filed.advice] == ["L0106", "L0125"]
    hit, near = map(read_case, filed.cases)
    assert hit.expected.initiators is not None
    assert (hit.expected.initiators[0].rank, hit.expected.initiators[0].certainty) == (5, "likely")
    assert (hit.expected.first, hit.expected.innocent[0].rank) == ("rank5.log:2", 0)
    assert (near.expected.outcome, near.expected.rule) == ("quiet", PATH)
    assert find_project(folder) is not None


def test_same_name_twice(tmp_path: Path, made: Draft) -> None:
    """Nothing that exists is overwritten."""
    to = home(tmp_path / "work")
    put(made, to, BYTES, {})
    before = everything(tmp_path)
    with pytest.raises(UsageError, match="exists already; name the rule with --id"):
        put(made, to, BYTES, {})
    assert everything(tmp_path) == before
    assert to.taken() == {PATH}


@pytest.mark.parametrize(
    ("logs", "near", "said"),
    [
        ({"rank5.log": HEALTHY.encode()}, {}, "does not recognise its own lines"),
        (BYTES, {"again.log": LOGS["rank5.log"].encode()}, "does not pass its case: extra: "),
    ],
)
def test_what_fails_leaves_nothing(tmp_path: Path, made: Draft, logs: dict[str, bytes], near: dict[str, bytes], said: str) -> None:
    """A draft that does not pass is taken back, and folders that were there stay."""
    folder = write_files(tmp_path / "work", {"rules/application/other.rule": "# mine\n"})
    before = everything(folder)
    with pytest.raises(UsageError, match=said):
        put(made, home(folder), logs, near)
    assert everything(folder) == before


def test_again(tmp_path: Path, made: Draft) -> None:
    """A draft can be replaced, with its cases; when the new one fails, the old one is back; what is no draft any more stays."""
    to = home(tmp_path / "work")
    filed = put(made, to, BYTES, {"again.log": HEALTHY.encode()})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="does not recognise"):
        put(made, to, {"rank5.log": HEALTHY.encode()}, {}, again=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    put(made, to, BYTES, {}, again=True)
    assert filed.rule.is_file()
    assert not filed.cases[1].exists()
    filed.rule.write_text(filed.rule.read_text().replace("draft", "preview"))
    with pytest.raises(UsageError, match="is no draft any more"):
        put(made, to, BYTES, {}, again=True)


def test_case_text_is_toml() -> None:
    """Whatever a log holds, the case says it in TOML."""
    odd = 'a "b" \\ \n \x7f é 𝄞'
    text = filing._toml({"says": odd, "initiators": [{"rank": 3, "host": odd}], "x": []})
    assert tomllib.loads(text) == {"says": odd, "initiators": [{"rank": 3, "host": odd}], "x": []}
