"""Generate the page docs/reference/sql.md from the headers and signatures of the SQL functions.

A function whose header has an example is public and is documented in full; a test runs each example. Other functions are
listed in a table. Lines of a header between the contract and the example describe arguments; ARGUMENTS describes arguments
that mean the same in every function.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plait.store.migrate import function_files

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "plait" / "sql"

SUBJECTS = {
    "enqueue": "Enqueue jobs",
    "nurseries": "Child jobs and follow-ups",
    "operate": "Cancel, retry and reschedule",
    "signals": "Signals",
    "triggers": "Schedules, events and triggers",
    "read": "Read jobs and statistics",
    "connectors": "Webhooks and connectors",
    "nodes": "Workers, nodes and the leader",
    "settings": "Queues, tenants and job definitions",
    "access": "Tenants, API keys and the audit log",
    "doctor": "Diagnosis and recovery",
    "foundation": "Clock and ids",
}

ELSEWHERE = {
    "after_restore": "doctor",
    "get_leader": "nodes",
    "list_workers": "nodes",
    "worker_history": "nodes",
    "worker_jobs": "nodes",
}
"""Functions that readers would look for under another subject than that of their folder."""

TENANT = "Default: the login's tenant, otherwise the tenant in the setting `plait.tenant`, otherwise `default`"
ARGUMENTS = {
    "p_job": "id of the job",
    "p_tenant": f"id of the tenant. {TENANT}",
    "p_all": "read all tenants. Requires `plait_admin`; `p_tenant` must be omitted",
    "p_limit": "maximum number of rows, up to 1,000",
    "p_before": "cursor: the last id of the previous page",
    "p_unchanged_since": "fail with PL014 if the object was changed after this time",
    "p_new": "fail if the object already exists",
    "definition": "name of the job definition",
    "payload": "arguments of the handler, a JSON object",
    "tenant": f"slug or id of the tenant. {TENANT}",
    "queue": "name of the queue. Default: the definition's queue",
    "priority": "lower runs first. Default: the definition's priority",
    "max_attempts": "maximum number of attempts. Default: the definition's",
    "timeout": "maximum run time of an attempt. Default: the definition's timeout",
    "delay": "time until the job may start",
    "scheduled_for": "start time. Default: now",
    "dedupe_key": "at most one unfinished job per key and tenant",
    "idempotency_key": "one payload per key for as long as the job is kept",
    "limit_key": "value for the definition's per-key limits",
    "correlation_id": "an id that related jobs share, for searching",
    "id": "a UUIDv7 that you generate, so that repeating the call is safe. Default: a new id",
}
"""Arguments that mean the same in every function."""

SDK_ONLY = frozenset(
    {"enqueue_one", "find_artifact", "follow", "get_outcomes", "list_schemas", "open_stream", "register_artifact"}
)
"""Functions that applications' logins may execute only because the SDK calls them."""

_CLAUSE = re.compile(r"--   (moves|locks|raises|called) +(.*)")
_ARGUMENT = re.compile(r"--   (\w+) {3,}(.*)")
_MORE = re.compile(r"-- {8,}(\S.*)")
_PRIVATE = re.compile(r"\s*\((?:_\w+|[TFSI]\d+)\)")
"""References to private functions and failure modes in a header."""


@dataclass(slots=True)
class Argument:
    name: str
    type: str
    default: str | None
    is_output: bool = False


@dataclass(slots=True)
class Function:
    name: str
    subject: str
    roles: list[str]
    summary: str = ""
    clauses: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    details: str = ""
    arguments: list[Argument] = field(default_factory=list)
    returns: str = ""

    def meaning(self, argument: str) -> str:
        return self.meanings.get(argument) or ARGUMENTS.get(argument, "")


def functions() -> list[Function]:
    """The public functions, in order of subject and name."""
    found = [_parse(path) for path in function_files() if not path.stem.startswith("_")]
    order = list(SUBJECTS)
    rest = len(order)
    return sorted(found, key=lambda one: (order.index(one.subject) if one.subject in SUBJECTS else rest, one.name))


def page(note: str) -> str:
    every = functions()
    public = [one for one in every if one.examples]
    lines = [
        "# SQL functions",
        note,
        "All state changes go through functions of the schema `plait`. Python, the command line and your own SQL call the same functions, in the "
        "caller's transaction. Pass arguments by name: `plait.retry(:'job', p_steps => 'drop')`.",
        "",
        "- **Roles.** A login may call a function if it has one of the function's roles: `client` is `plait_client`, for applications; `tenant` is "
        "`plait_tenant`, for logins that are bound to one tenant; `admin` is `plait_admin`, for operators; `worker` is `plait_worker`. "
        "[How to create logins](../how-to/production.md).",
        "- **Errors** are SQLSTATEs ([list](errors.md)). Each function with a tenant argument can also raise `PL003` (no such tenant) and "
        "`PL004` (the login may not act for the tenant). Functions that change something raise `PL010` outside READ COMMITTED.",
        "- **Examples** are for psql. `:'job'` is a psql variable: set it with `\\set job <id>`, or with `\\gset` after "
        "`select plait.enqueue('send_mail') as job`. The tests run every example.",
        "",
        *_contents(public),
        "",
    ]
    subject = ""
    for one in public:
        if one.subject != subject:
            subject = one.subject
            lines += [f"## {SUBJECTS[subject]}", ""]
        lines += [*_section(one), ""]
    rows = [
        f"| `{one.name}` | {cell(sentence(public_text(one.summary)))} | {', '.join(one.roles) or 'none'} |"
        for one in sorted(every, key=lambda one: one.name)
        if not one.examples
    ]
    lines += [
        "## Internal functions",
        "Workers, the leader, the API and the SDK call these functions. They may change in every release: don't call them. "
        "Their files, `plait/sql/functions/<subject>/<name>.sql`, begin with their contracts.",
        "",
        "| function | description | roles |",
        "|---|---|---|",
        *rows,
        "",
    ]
    return "\n".join(lines)


def _contents(public: list[Function]) -> Iterator[str]:
    yield "| subject | functions |"
    yield "|---|---|"
    for subject, title in SUBJECTS.items():
        links = " · ".join(f"[{one.name}](#{one.name})" for one in public if one.subject == subject)
        if links:
            yield f"| {title} | {links} |"


def _section(one: Function) -> Iterator[str]:
    yield f"### {one.name}"
    yield sentence(public_text(one.summary))
    if one.details:
        yield public_text(one.details)
    yield ""
    yield "```sql"
    yield from "\n".join(one.examples).splitlines()
    yield "```"
    yield ""
    inputs = [argument for argument in one.arguments if not argument.is_output]
    if inputs:
        yield "| argument | type | default | description |"
        yield "|---|---|---|---|"
        for argument in inputs:
            default = "required" if argument.default is None else f"`{argument.default}`"
            meaning = cell(_marked(sentence(one.meaning(argument.name))))
            yield f"| `{argument.name}` | {argument.type} | {default} | {meaning} |"
        yield ""
    yield f"- Returns {_returned(one)}."
    yield f"- Roles: {', '.join(one.roles)}."
    if one.clauses["moves"] != "nothing":
        yield f"- State changes: {_moves(_resolved(one, 'moves'))}."
    yield f"- Errors: {_resolved(one, 'raises')}."


def _returned(one: Function) -> str:
    outputs = [f"`{argument.name} {argument.type}`" for argument in one.arguments if argument.is_output]
    if outputs:
        return f"one row: {', '.join(outputs)}"
    if one.returns.startswith("table"):
        columns = [f"`{column}`" for column in _split(one.returns.partition("(")[2].rpartition(")")[0])]
        return f"rows: {', '.join(columns)}"
    if one.returns.startswith("setof"):
        relation = one.returns.removeprefix("setof ")
        kind = "view" if relation == "plait.job" else "table"
        return f"rows of the {kind} `{relation}`"
    return "nothing" if one.returns == "void" else f"`{one.returns}`"


def _resolved(one: Function, clause: str) -> str:
    """A clause of a contract. A reference to a private function is replaced by that function's clause."""
    text = one.clauses[clause]
    for name in re.findall(r"\bas (_\w+)", text):
        [path] = SQL.glob(f"functions/*/{name}.sql")
        text = text.replace(f"as {name}", _parse(path).clauses[clause])
    text = re.sub(r"(?<!`)\bas (\w+)(?=$|[;,])", r"as [`\1`](#\1)", text)
    return _marked(public_text(text)).replace("nothing;", "none;") if text != "nothing" else "none"


def _moves(text: str) -> str:
    """Format state changes for readers."""
    return (
        text.replace("nothing -> ", "new job → ")
        .replace("; -> ", "; new job → ")
        .replace(" | ", " or ")
        .replace("->", "→")
    )


def _marked(text: str) -> str:
    return re.sub(r"(?<!`)\b(PL\d{3})\b(?!`)", r"`\1`", text)


def public_text(text: str) -> str:
    """A description without references to private functions and failure modes."""
    return _PRIVATE.sub("", text)


def _parse(path: Path) -> Function:
    text = path.read_text()
    one = Function(path.stem, ELSEWHERE.get(path.stem, path.parent.name), granted(path.stem))
    signature = re.search(rf"function plait\.{path.stem}\(", text)
    assert signature is not None, path
    end = _closing(text, signature.end())
    one.arguments = [_argument(part) for part in _split(text[signature.end() : end])]
    returns = re.match(r"\s*returns\s+(.*?)\s*\blanguage\b", text[end + 1 :], re.DOTALL)
    one.returns = " ".join(returns[1].split()) if returns else ""
    _read_header(one, text[: signature.start()])
    return one


def _read_header(one: Function, header: str) -> None:
    names = {argument.name for argument in one.arguments}
    into: dict[str, str] = {}
    key = ""
    example: list[str] = []
    paragraphs = [""]
    for line in header.splitlines():
        if not line.startswith("--"):
            break
        if example or line.startswith("--   select "):
            example.append(line[5:])
            if line.endswith(";"):
                one.examples.append("\n".join(example))
                example = []
        elif found := re.match(rf"-- {one.name}: (.*)", line):
            one.summary = found[1]
        elif found := _CLAUSE.match(line):
            into, key = one.clauses, found[1]
            into[key] = found[2]
        elif (found := _ARGUMENT.match(line)) and found[1] in names:
            into, key = one.meanings, found[1]
            into[key] = found[2]
        elif found := _MORE.match(line):
            into[key] += " " + found[1]
        elif line == "--":
            paragraphs.append("")
        else:
            paragraphs[-1] += line.removeprefix("--")
    assert not example, f"an example of {one.name} has no end"
    # The first paragraph is for callers; later paragraphs explain the code.
    one.details = next((text.strip() for text in paragraphs if text and not text.startswith(" long:")), "")


def _argument(text: str) -> Argument:
    words = text.split(maxsplit=1)
    is_output = words[0] == "out"
    if is_output:
        words = words[1].split(maxsplit=1)
    name, rest = words
    kind, _, default = rest.partition(" default ")
    return Argument(name, kind.strip(), default.strip() or None, is_output)


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    raise ValueError(text[:80])


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for char in " ".join(text.split()):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def granted(function: str) -> list[str]:
    """The roles that may execute a function, read from grants.sql."""
    code = re.sub(r"--[^\n]*", "", (SQL / "grants.sql").read_text())
    roles: set[str] = set()
    for names, to in re.findall(r"grant execute on function(.*?)\bto\b(.*?);", code, re.DOTALL):
        if re.search(rf"\bplait\.{function}\b(?!\w)", names):
            roles.update(role.strip().removeprefix("plait_") for role in to.split(","))
    return sorted(roles)


def sentence(text: str) -> str:
    """Format a description as a sentence, with a capital letter and a full stop."""
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
