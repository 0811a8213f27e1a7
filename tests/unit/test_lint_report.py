"""Advice about what a rule says."""

from __future__ import annotations

from pathlib import Path

import pytest
from advising import EVENTS, advice, advice_on, codes, text_of
from attrs import evolve

from denpex_rules import library
from denpex_rules.lint import lint_rules
from denpex_rules.mending import mend
from denpex_rules.taxonomy import Taxonomy, load_taxonomy


def test_unused_let() -> None:
    """A value that nothing uses is advised against, whether or not another value hangs on it."""
    chain = "  require lost\n  let bad = rank_of(lost.host, lost.device)\n"
    (found,) = advice(text_of(chain))
    assert (found.code, found.message) == ("L0108", "nothing uses the value `bad`")
    assert codes(text_of(f"{chain}  confirm silence where rank == bad for 60s after lost")) == []


def test_rule_without_remedy() -> None:
    """A rule says what to do."""
    assert codes(text_of(do="")) == ["L0106"]


def classes(tmp_path: Path, upstream: str) -> Taxonomy:
    """Return the shipped classes and `shard.broken`, which has `shard.late` upstream, which has `upstream`."""
    table = (
        '[[class]]\nid = "{}"\ntitle = "t"\ndefinition = "d"\nlayer = "storage"\nrole = "cause"\nscope = "rank"\naccuse = "none"\n'
    )
    one = table.format("shard.broken") + 'upstream = ["shard.late"]\n'
    other = table.format("shard.late") + f"upstream = {upstream}\n"
    path = tmp_path / "taxonomy.toml"
    path.write_text(one + other, encoding="utf-8")
    return load_taxonomy(path)


@pytest.mark.parametrize(("upstream", "found"), [("[]", ["L0104"]), ('["shard.broken"]', [])])
def test_cause_that_the_taxonomy_has_as_effect(tmp_path: Path, upstream: str, found: list[str]) -> None:
    """A rule that turns the taxonomy's direction round is advised about; one that the taxonomy is silent on, or allows, is not."""
    taxonomy = classes(tmp_path, upstream)
    rules = library.load_text(text_of(meta="  causes collective.timeout\n"))
    turned = evolve(rules, rules=tuple(evolve(r, cls="shard.broken", causes=("shard.late",)) for r in rules.rules))
    along = evolve(rules, rules=tuple(evolve(r, cls="shard.late", causes=("shard.broken",)) for r in rules.rules))
    assert [d.code for d in lint_rules(turned, taxonomy) if d.code == "L0104"] == found
    assert [d.code for d in lint_rules(along, taxonomy) if d.code == "L0104"] == []


def test_symptom_does_not_accuse_with_certainty() -> None:
    """A rule of a symptom's class says `likely`, or nobody; one of a cause's class may be certain."""
    late = '  event lost error in rank "collective timed out after {ran:ms} ms"\n'
    text = text_of(events=late, cls="collective.timeout")
    certain = text.replace("blame none", 'blame rank lost.rank\n  verify "dmesg -T"')
    assert codes(certain) == ["L0117"]
    assert codes(certain.replace("lost.rank\n", "lost.rank likely\n")) == []
    assert codes(text) == []
    assert codes(certain.replace("collective.timeout", "train.python_exception")) == []


def test_stable_says_from_where_and_since_when() -> None:
    """A stable rule has a reference and a version; a preview needs neither."""
    text = text_of(meta='  status stable since "0.1"\n')
    assert codes(text) == []
    assert codes(text.replace('  ref "https://example.org/lost"\n', "")) == ["L0124"]
    assert codes(text.replace(' since "0.1"', "")) == ["L0124"]
    assert codes(text_of(meta="  status preview\n")) == []


def test_accusation_can_be_checked() -> None:
    """A rule that accuses offers a command that checks it."""
    accusing = text_of().replace("blame none", "blame device lost.device")
    assert codes(accusing) == ["L0125"]
    assert codes(accusing.replace("lost.device\n", 'lost.device\n  verify "dmesg -T" on lost.host\n')) == []


def test_headline() -> None:
    """A title has at most 100 characters and no full stop; the full stop can be taken out safely, an ellipsis stays."""
    assert codes(text_of().replace("GPU lost", "G" * 101)) == ["L0126"]
    assert codes(text_of().replace("GPU lost", "G" * 100)) == []
    stopped = text_of().replace('"GPU lost"', '"GPU lost."')
    (found,) = advice_on(stopped)
    assert mend(stopped, [found])[0] == text_of()
    assert advice_on(text_of().replace('"GPU lost"', '"GPU lost..."')) == []


def test_reference_is_an_address() -> None:
    """A reference opens over https."""
    assert codes(text_of(do='  do "x"\n  ref "http://example.org"')) == ["L0127"]
    assert codes(text_of(do='  do "x"\n  ref "see the manual"')) == ["L0127"]
    assert codes(text_of(do='  do "x"\n  ref "https://example.org"')) == []


def test_comparison_with_itself_or_twice() -> None:
    """`see` names another rule, once."""
    itself = '  see "hardware.gpu.lost" because "the same"\n'
    assert codes(text_of(meta=itself)) == ["L0123"]
    twice = '  see "hardware.gpu.gone" because "one"\n  see "denpex:hardware.gpu.gone" because "two"\n'
    assert [d.code for d in advice(text_of(meta=twice), known=frozenset({"denpex:hardware.gpu.gone"}))] == ["L0123"]


def test_text_with_a_value_that_may_be_missing() -> None:
    """`why` and `do` name values of required steps: those of confirming steps may be unknown."""
    more = EVENTS + '  event seen in rank "saw the last batch of shard {file:path}"\n'
    steps = "  require lost\n  confirm seen where job == lost.job after lost"
    assert codes(text_of(steps, events=more, do='  do "Look at {seen.file}."')) == ["L0129"]
    assert codes(text_of(steps, events=more, do='  do "Look at {lost.host}."')) == []
    assert codes(text_of(steps.replace("confirm", "require"), events=more, do='  do "Look at {seen.file}."')) == []


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("nvidia-smi --gpu-reset -i 0", True),
        ("sudo reboot", True),
        ("ssh node-07 sudo systemctl restart slurmd", True),
        ("dmesg -T | tail; kill -9 4242", True),
        ("echo 1 > /sys/bus/pci/rescan", True),
        ("kubectl delete pod x", True),
        ("scontrol update nodename=node-07 state=drain", True),
        ("sed -i s/a/b/ /etc/hosts", True),
        ("mkfs.ext4 /dev/sda", True),
        ("dmesg -T | grep -iE 'killed process|oom-kill'", False),
        ("last -x reboot | head -n 3", False),
        ("nvidia-smi -q -d ECC 2>/dev/null", False),
        ("scontrol show node", False),
        ("kubectl describe pod x | tail", False),
        ("systemctl status slurmd", False),
        ("grep -h Error <rank-logs> | sort", False),
        ("mount -t nfs4", False),
        ("ip -s link show", False),
        ("ip link set eth0 down", True),
        ("grep -c 'a > b' x.log", False),
    ],
)
def test_check_only_looks(command: str, *, changes: bool) -> None:
    """A check does not change the machine, behind ssh and sudo neither; words in quotes are no commands."""
    assert codes(text_of(do=f'  do "x"\n  verify "{command}"')) == (["L0118"] if changes else [])


@pytest.mark.parametrize(
    ("pattern", "unsafe"),
    [
        ('"shard {what:path} is gone"', True),
        ('"shard {what:text} is gone"', True),
        ('"shard {what:word} is gone"', True),
        (r"/shard (?P<what>\S+) is gone/", True),
        (r"/shard (?P<what>.*?) is gone/", True),
        ('"shard {what:int} is gone"', False),
        ('"shard {what:device} is gone"', False),
        ('"shard {what:hex} is gone"', False),
        (r"/shard (?P<what>[\w.-]+) is gone/", False),
        (r"/shard (?P<what>(?:a|b)[)(]?) is gone/", False),
    ],
)
def test_text_of_a_log_in_a_command(pattern: str, *, unsafe: bool) -> None:
    """What a log says gets into a command only as a type, or a regex, without signs that a shell obeys."""
    text = text_of(events=f"  event lost error in rank {pattern}\n", do='  do "x"\n  verify "ls -l {lost.what}"')
    assert codes(text) == (["L0119"] if unsafe else [])


def test_actor_in_a_command() -> None:
    """Hosts and ranks in a command are names and numbers."""
    assert codes(text_of(do='  do "x"\n  verify "ssh {lost.host} dmesg" on lost.host')) == []
