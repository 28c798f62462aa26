"""Generate the page docs/reference/cli.md from the commands, with one example for each."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from sql_reference import cell

from plait import cli
from plait.cli import errors

ID = "0190a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b"
EXAMPLES = {
    "run": "plait run hello.py hello name=world",
    "dev": "plait dev app.py",
    "worker": "plait worker app.py --queues analytics:4,default:50 --grace 5m",
    "leader": "plait leader --url postgresql://plait_worker@db/shop",
    "api": "plait api app.py --host 0.0.0.0 --port 8717",
    "enqueue": "plait enqueue app.py resize path=a.png width=200 --delay 10m",
    "migrate": "plait migrate --url postgresql://postgres@db/shop --grant-client shop",
    "after-restore": "plait after-restore --until 2030-01-31T12:00",
    "demo": "plait demo",
    "doctor": "plait doctor --json",
    "jobs failures": "plait jobs failures --status dead_letter",
    "top": "plait top --by tenant --sort oldest",
    "bench": "plait bench --jobs 5000",
    "nodes": "plait nodes",
    "commands": "plait commands app.py --schemas",
    "jobs list": "plait jobs list --status failed --status dead_letter --limit 20",
    "jobs show": f"plait jobs show {ID}",
    "jobs logs": f"plait jobs logs {ID} --follow --level warning",
    "jobs cancel": f"plait jobs cancel {ID} --tree --reason 'wrong customer'",
    "jobs retry": f"plait jobs retry {ID}",
    "jobs reschedule": f"plait jobs reschedule {ID} --delay 1h",
    "jobs tree": f"plait jobs tree {ID}",
    "jobs children": f"plait jobs children {ID} --sort duration",
    "jobs steps": f"plait jobs steps {ID}",
    "jobs history": f"plait jobs history {ID} > history.json",
    "jobs signal": f"""plait jobs signal {ID} approved '{{"by": "anna"}}'""",
    "jobs fork": f"plait jobs fork {ID} --from charge",
    "queues list": "plait queues list",
    "queues pause": "plait queues pause mail",
    "queues resume": "plait queues resume mail",
    "queues set": "plait queues set mail --max-running 10 --rate 100/1m",
    "workers list": "plait workers list --state stale",
    "workers history": "plait workers history --state lost --host web-3",
    "workers show": "plait workers show 17",
    "tenants list": "plait tenants list",
    "tenants create": "plait tenants create acme --weight 2 --max-running 50",
    "tenants set": "plait tenants set acme --max-queued 10000 --keep failed=30d",
    "tenants bind": "plait tenants bind acme_login acme",
    "definitions list": "plait definitions list",
    "definitions show": "plait definitions show send_mail",
    "definitions schema": "plait definitions schema send_mail",
    "definitions set": "plait definitions set send_mail --rate 10/1s --timeout 30s",
    "definitions clear": "plait definitions clear send_mail",
    "triggers list": "plait triggers list --all-tenants",
    "triggers add": "plait triggers add nightly sync --cron '0 2 * * *' --time-zone Europe/Berlin",
    "triggers set": "plait triggers set nightly --cron '30 2 * * *'",
    "triggers pause": "plait triggers pause nightly",
    "triggers resume": "plait triggers resume nightly",
    "triggers delete": "plait triggers delete nightly",
    "triggers preview": "plait triggers preview nightly --count 5",
    "triggers test": "plait triggers test nightly",
    "triggers fires": "plait triggers fires nightly",
    "events list": "plait events list --name order.paid",
    "events send": "plait events send order.paid order=17 cents=4200",
    "events show": f"plait events show {ID}",
    "keys list": "plait keys list",
    "keys create": "plait keys create ci --role viewer --expires 90d",
    "keys revoke": f"plait keys revoke {ID}",
    "endpoints list": "plait endpoints list",
    "endpoints add": "plait endpoints add crm https://crm.example/hook --on failed,dead_letter",
    "endpoints set": "plait endpoints set crm --on all",
    "endpoints enable": "plait endpoints enable crm",
    "endpoints disable": "plait endpoints disable crm",
    "endpoints delete": "plait endpoints delete crm",
    "endpoints keys": "plait endpoints keys crm",
    "endpoints rotate": "plait endpoints rotate crm --overlap 7d",
    "endpoints test": "plait endpoints test crm",
    "connectors list": "plait connectors list",
    "connectors set": """plait connectors set http '{"timeout": 10, "hosts": ["*.example.com"]}'""",
    "connectors unset": "plait connectors unset http",
}
COMMON = ("--url", "--data-dir", "--json", "--debug")


def page(note: str) -> str:
    root: Any = typer.main.get_command(cli.app)
    single = {name: one for name, one in root.commands.items() if not hasattr(one, "commands")}
    groups = {name: one for name, one in root.commands.items() if hasattr(one, "commands")}
    common = [one for one in next(iter(single.values())).params if one.opts[0] in COMMON]
    lines = [
        "# Command line",
        note,
        "`plait <command> --help` shows the same help. Durations are written as `90s`, `10m` or `1h30m`. Ids must be full ids, as the list commands show them.",
        "",
        *_contents(single, groups),
        "",
        "## Common options",
        "Every command accepts these options, before or after its name.",
        "",
        *_table(common),
        "",
        "`plait --version` shows the version. `plait --install-completion` installs completion for your shell.",
        "",
        "Commands also read the [settings](settings.md) from environment variables. An option takes precedence over its variable.",
        "",
        "## Exit codes",
        "| code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in exit_codes().items()),
        "",
        'With `--json` an error is printed to stderr as `{"error": {"code": …, "message": …, "exit_code": …}}`.',
        "",
        "## Commands",
    ]
    for name, one in single.items():
        lines += [*_section(name, one), ""]
    for group, one in groups.items():
        lines += [f"## plait {group}", str(one.help), ""]
        for name, command in one.commands.items():
            lines += [*_section(f"{group} {name}", command), ""]
    return "\n".join(lines)


def commands() -> Iterator[str]:
    """The names of all commands."""
    root: Any = typer.main.get_command(cli.app)
    for name, one in root.commands.items():
        if hasattr(one, "commands"):
            yield from (f"{name} {inner}" for inner in one.commands)
        else:
            yield name


def exit_codes() -> dict[int, str]:
    """The exit codes, from the docstring of plait.cli.errors."""
    found = re.findall(r"(\d+) {2,}(\S.*?)(?= {3,}|\n|$)", errors.__doc__ or "")
    return {int(code): meaning for code, meaning in sorted(found, key=lambda pair: int(pair[0]))}


def _contents(single: dict[str, Any], groups: dict[str, Any]) -> Iterator[str]:
    yield "| command | |"
    yield "|---|---|"
    for name, one in single.items():
        yield f"| [`plait {name}`](#plait-{name}) | {cell(_summary(one))} |"
    for group, one in groups.items():
        names = " · ".join(f"[{name}](#plait-{group}-{name})" for name in one.commands)
        yield f"| `plait {group}` | {names} |"


def _summary(command: Any) -> str:
    return str(command.help).partition("\n\n")[0]


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"### plait {name}"
    yield from (" ".join(part.split()) + "\n" for part in str(command.help).split("\n\n"))
    yield "```"
    yield EXAMPLES[name]
    yield "```"
    own = [one for one in command.params if one.opts[0] not in COMMON]
    if own:
        yield ""
        yield from _table(own)


def _table(parameters: list[Any]) -> Iterator[str]:
    rows = [(_names(one), *_default(one), one.help) for one in parameters]
    titles = ["argument or option", "default", "variable", "description"]
    shown = [0, 1, *([2] if any(row[2] for row in rows) else []), 3]
    yield f"| {' | '.join(titles[column] for column in shown)} |"
    yield "|---" * len(shown) + "|"
    for row in rows:
        yield f"| {' | '.join(cell(row[column]) for column in shown)} |"


def _names(one: Any) -> str:
    if one.opts[0].startswith("-"):
        names = ", ".join(f"`{name}`" for name in one.opts)
        names += "".join(f", `{name}`" for name in one.secondary_opts)
        return f"{names} {one.metavar or ''}".strip()
    metavar = one.metavar or one.name.upper()
    return f"`{metavar}`" if metavar.endswith("...") or one.nargs == 1 else f"`{metavar}...`"


def _default(one: Any) -> tuple[str, str]:
    """The default of a parameter, and the environment variable that it is read from."""
    shown = one.show_default if isinstance(one.show_default, str) else ""
    variables = re.findall(r"PLAIT_[A-Z_]+", f"{shown} {one.help}")
    variable = f"`{variables[0]}`" if variables and not variables[0].startswith("PLAIT_SECRET") else ""
    if shown:
        default = re.sub(r",? ?(?:or )?PLAIT_[A-Z_]+", "", shown)
    elif one.required:
        default = "required"
    elif one.default is None or one.default is False or one.multiple:
        default = ""
    elif one.default is True:
        default = f"`{one.opts[0]}`"
    else:
        default = f"`{one.default}`"
    return default, variable
