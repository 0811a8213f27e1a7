"""Advice about what a rule says: its claim, its words, its remedy, and the commands that people will paste."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from denpex_rules.errors import Diagnostic, Edit, Patch
from denpex_rules.pattern import Types, admits
from denpex_rules.rule import Capture, Event, Path, Rule, Template, Text
from denpex_rules.taxonomy import UNCLASSIFIED, Taxonomy
from denpex_rules.usage import Use, advice

HEADLINE: Final = 100  # characters: what fits on a line of a terminal


def lint_report(use: Use, events: dict[str, Event], taxonomy: Taxonomy, types: Types) -> Iterator[Diagnostic]:
    """Yield advice about what a rule says.

    Args:
        use: the rule.
        events: the events that it uses, by id.
        taxonomy: the classes that it names.
        types: every capture type by name.
    """
    rule = use.rule
    for let in rule.lets:
        if let.name not in use.names:
            patch = Patch(f"remove the value `{let.name}`", (Edit(let.span, ""),), safe=True)
            yield advice("L0108", f"nothing uses the value `{let.name}`", let.span, "leave it out", patch)
    yield from _claim(rule, taxonomy)
    yield from _words(rule)
    yield from _help(rule)
    yield from _links(rule)
    yield from _commands(rule, events, types)


def _claim(rule: Rule, taxonomy: Taxonomy) -> Iterator[Diagnostic]:
    known = taxonomy.get(rule.cls)
    if rule.cls == UNCLASSIFIED:
        message = f"rule `{rule.id}` is a draft that nobody has said the root cause of"
        yield advice("L0130", message, rule.span, "name one of the shipped classes, or add one of your own to taxonomy.toml")
    for effect in rule.causes:
        target = taxonomy.get(effect)
        if known and target and effect in known.upstream and rule.cls not in target.upstream:
            message = f"rule `{rule.id}` says that `{rule.cls}` causes `{effect}`; the taxonomy has it the other way round"
            yield advice("L0104", message, rule.span, f"leave out `{effect}`, or name `{rule.cls}` upstream of it")
    if known is None or known.role != "symptom":
        return
    for blame in rule.blame:
        if blame.roles and blame.certainty == "certain":
            message = f"`{rule.cls}` is a symptom: whoever shows it is not certain to have failed first"
            yield advice("L0117", message, blame.span, "add `likely`, or `blame none`")


def _words(rule: Rule) -> Iterator[Diagnostic]:
    if len(rule.title) > HEADLINE:
        message = f"the title of rule `{rule.id}` has {len(rule.title)} characters"
        yield advice("L0126", message, rule.span, f"say it in {HEADLINE}, and the rest in `summary`")
    optional = {step.name: step.verb for step in rule.steps if step.verb in {"confirm", "refute"}}
    for text in (rule.why, *rule.do):
        for path in (p for p in text.pieces if isinstance(p, Path) and p.name in optional):
            shown = f"{{{path.name}.{path.field}}}"
            message = f"`{shown}` comes from a step that only {optional[path.name]}s, so it may have no value"
            yield advice("L0129", message, path.span, "name a value of a required step")


def _help(rule: Rule) -> Iterator[Diagnostic]:
    if not rule.do:
        yield advice("L0106", f"rule `{rule.id}` says what failed and not what to do", rule.span, 'add `do "…"`')
    if rule.status == "stable":
        for said, what, hint in (
            (rule.references, "from where it is known", 'add `ref "https://…"` with the page or source that says so'),
            (rule.since, "since which version", 'write `status stable since "1.0"`'),
        ):
            if not said:
                yield advice("L0124", f"the stable rule `{rule.id}` does not say {what}", rule.span, hint)
    if not rule.verify and any(blame.roles for blame in rule.blame):
        message = f"rule `{rule.id}` accuses, and offers no command to check that with"
        yield advice("L0125", message, rule.span, 'add `verify "…"`')


def _links(rule: Rule) -> Iterator[Diagnostic]:
    for reference in rule.references:
        if not reference.startswith("https://"):
            message = f"the reference `{reference}` of rule `{rule.id}` is no https address"
            yield advice("L0127", message, rule.span, "give a page that opens for everyone, over https")
    for name, count in Counter(see.rule.removeprefix(f"{rule.pack}:") for see in rule.see).items():
        if name == rule.id:
            yield advice("L0123", f"rule `{rule.id}` is compared with itself", rule.span, "name the rule that it is confused with")
        elif count > 1:
            yield advice("L0123", f"rule `{rule.id}` is compared {count} times with `{name}`", rule.span, "say it once")


# ------------------------------------------------------------------ commands

# Programs that change a machine, and those that do so with certain words behind them.
_CHANGING: Final = re.compile(
    r"chmod|chown|dd|fdisk|init|kill|killall|mkfs(\.\w+)?|modprobe|mv|parted|pkill|poweroff|reboot|rm|rmmod|scancel|shutdown|truncate|umount"
)
_VERBS: Final = {
    "systemctl": r"start|stop|restart|reload|kill|mask|disable|enable|isolate",
    "scontrol": r"update|reboot|requeue|suspend|release|hold|create|delete",
    "kubectl": r"delete|drain|cordon|uncordon|apply|patch|scale|taint|replace|edit|annotate|label|rollout",
    "docker": r"rm|rmi|stop|kill|restart|prune|update",
    "nvidia-smi": r"-r|--gpu-reset|-pm|-pl|-mig|-lgc|-rgc|-e|-p|--reset-ecc-errors|drain",
    "ip": r"\S+ (?:set|add|del|flush)",
    "sed": r"-i\S*",
    "sysctl": r"-w",
    "mlxconfig": r".*\bset\b",
}
_LEADING: Final = re.compile(r"^(?:sudo(?: -\w+)*|env|time|nohup|ssh(?: -\S+)* \S+|\w+=\S*)\s+")
_REDIRECT: Final = re.compile(r"(?:^|\s)\d?>>?\s*(?!/dev/null\b|&)[^\s<>]")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_SHELL: Final = (";x", "$(x)", "`x`", "|x", "&x", "$x")


def _commands(rule: Rule, events: dict[str, Event], types: Types) -> Iterator[Diagnostic]:
    for verify in rule.verify:
        change = _change(verify.command)
        if change:
            message = f"the check `{change}` of rule `{rule.id}` changes what it should only look at"
            yield advice("L0118", message, rule.span, "put it into `do`, as advice to a person")
        for path in (p for p in verify.command.pieces if isinstance(p, Path)):
            event = next((events.get(step.event) for step in rule.steps if step.name == path.name), None)
            if event is not None and any(_runs(shape) for shape in _shapes(event, path.field, types)):
                message = f"`{{{path.name}.{path.field}}}` puts text from a log into a command that people will paste into a shell"
                yield advice("L0119", message, path.span, "capture it as a type without signs of the shell, such as pci or int")


def _change(command: Text) -> str:
    """Return the part of a command that would change a machine, "" where there is none."""
    text = _QUOTED.sub("''", "".join(piece if isinstance(piece, str) else "X" for piece in command.pieces))
    if _REDIRECT.search(text):
        return text.strip()
    for part in re.split(r"\|\|?|&&?|;|\$\(|\(", text):
        run = part.strip()
        while lead := _LEADING.match(run):
            run = run[lead.end() :]
        program, _, rest = run.partition(" ")
        name = program.rpartition("/")[2]
        if _CHANGING.fullmatch(name) or re.match(rf"(?:{_VERBS.get(name, '(?!)')})(?:\s|$)", rest.strip()):
            return run
    return ""


def _shapes(event: Event, name: str | None, types: Types) -> Iterator[str]:
    """Yield the regexes of what an event may capture under a name."""
    for part in (p for a in event.alternatives for s in a.sequences for p in s.parts):
        if isinstance(part, Template):
            yield from (types[p.type].pattern for p in part.pieces if isinstance(p, Capture) and p.name == name and p.type in types)
        elif name is not None and f"(?P<{name}>" in part.text:
            yield _group(part.text, part.text.index(f"(?P<{name}>"))


def _group(regex: str, start: int) -> str:
    """Return the group that opens at `start`, to the parenthesis that closes it."""
    depth = 0
    for token in _TOKEN.finditer(regex, start):
        depth += (token[0] == "(") - (token[0] == ")")
        if not depth:
            return regex[start : token.end()]
    return regex[start:]


_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)


def _runs(shape: str) -> bool:
    """Say whether a text of this shape can make a shell run something."""
    return any(admits(shape, text) for text in _SHELL)
