"""Which log formats a command reads beside the ones that it knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from denpex_rules import logformats
from denpex_rules.errors import UsageError
from denpex_rules.judgement import DEFAULT
from denpex_rules.logformats import with_formats
from denpex_rules.record import NO_HINTS, LineFormat

OWN = '[[formats]]\nname = "acme"\nline = "{time} [{rank}] {text}"\n'


def test_nothing_is_asked_for(tmp_path: Path) -> None:
    """Without a project, plug-ins and options the options stay as they are."""
    assert with_formats(DEFAULT, None, tmp_path) == DEFAULT
    assert DEFAULT.hinted(NO_HINTS) is NO_HINTS


def test_options_go_before_the_project_and_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is nearest to the person is tried first."""
    (tmp_path / "rulecheck.toml").write_text(OWN, encoding="utf-8")
    offered = LineFormat("rack", ("{host} > {text}",))
    monkeypatch.setattr(logformats.plugins, "line_formats", lambda: {"rack": offered})
    options = with_formats(DEFAULT, ["{rank}: {text}", "srun_label", "{pid}; {text}"], tmp_path)
    assert [f.name for f in options.formats] == ["option", "acme", "rack"]
    assert options.formats[0].lines == ("{rank}: {text}", "{pid}; {text}")
    hints = options.hinted(NO_HINTS)
    assert (hints.wrappers, hints.formats) == ({"srun_label"}, options.formats)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("srun_labl", "unknown wrapper 'srun_labl'; did you mean srun_label?"),
        ("zzz", "known: compose, "),
        ("k8s_cri", "unknown wrapper 'k8s_cri'"),
        ("{time}", "must end with {text}"),
    ],
)
def test_mistakes_of_the_option(tmp_path: Path, asked: str, words: str) -> None:
    """A name that is no weak wrapper and a line that can't be read are refused."""
    with pytest.raises(UsageError) as caught:
        with_formats(DEFAULT, [asked], tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["c10d", "option"])
def test_a_name_is_given_once(tmp_path: Path, name: str) -> None:
    """A format can't have the name of another one."""
    (tmp_path / "rulecheck.toml").write_text(OWN.replace("acme", name), encoding="utf-8")
    with pytest.raises(UsageError, match=f"log format {name}: the name is taken"):
        with_formats(DEFAULT, ["{rank}: {text}"], tmp_path)
