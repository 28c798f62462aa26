"""The locks that a migration takes, and how long it holds them. They are derived from the migration's text, so that a plan locks nothing.
A short lock is harmless: `migrate` waits briefly for it, and retries. A lock that is held while a whole table is read, rewritten
or indexed blocks workers for that time. A test runs every migration and compares its real locks with the derived locks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal[
    "AccessExclusiveLock", "ShareRowExclusiveLock", "ShareLock", "ShareUpdateExclusiveLock", "RowExclusiveLock"
]
Work = Literal["none", "reads it all", "writes it all", "unknown"]

BIG: Final = 100_000
"""Scanning a table with at least this many rows blocks workers for a noticeable time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The effect of one statement on an existing table."""

    table: str
    mode: Mode | None
    """None: unknown."""
    work: Work
    statement: str

    rows: int | None = None
    """The estimated number of rows."""

    @property
    def blocks(self) -> bool:
        """Whether the lock blocks other transactions for a noticeable time."""
        return self.mode is None or (self.work != "none" and (self.rows or 0) >= BIG)

    def __str__(self) -> str:
        mode = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", (self.mode or "unknown").removesuffix("Lock")).upper()
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        work = "briefly" if self.work == "none" else "for an unknown time" if self.work == "unknown" else self.work
        return f"{self.table}{rows}: {mode}, {work}"


def locks_in(migration: str) -> list[Lock]:
    """List the locks on tables that the migration does not create itself."""
    new: set[str] = set()
    found: list[Lock] = []
    for statement in statements_in(migration):
        if made := re.match(r"create table (?:if not exists )?plait\.(\w+)", statement):
            new.add(made[1])
            # Referenced tables are locked against changes to their keys.
            referred = {name for name in re.findall(r"references plait\.(\w+)", statement) if name not in new}
            found += [Lock(table=t, mode="ShareRowExclusiveLock", work="none", statement=statement) for t in referred]
        found += [lock for lock in _locks_of(statement) if lock.table not in new]
    return found


def _locks_of(statement: str) -> list[Lock]:
    def lock(table: str, mode: Mode | None, work: Work) -> list[Lock]:
        return [Lock(table=table, mode=mode, work=work, statement=statement)]

    if match := re.match(r"alter table (?:only )?plait\.(\w+) set \((?:fillfactor|autovacuum_)[^)]*\)$", statement):
        return lock(match[1], "ShareUpdateExclusiveLock", "none")
    if match := re.match(r"alter table (?:only )?plait\.(\w+) (.*)", statement):
        return lock(match[1], "AccessExclusiveLock", _work_of(match[2]))
    if match := re.match(r"create (?:unique )?index (concurrently )?.*? on plait\.(\w+)", statement):
        return [] if match[1] else lock(match[2], "ShareLock", "reads it all")
    if match := re.match(r"create policy \w+ on plait\.(\w+)", statement):
        return lock(match[1], "AccessExclusiveLock", "none")
    if match := re.match(r"create (?:or replace )?(?:constraint )?trigger .*? on plait\.(\w+)", statement):
        return lock(match[1], "ShareRowExclusiveLock", "none")
    if match := re.match(r"drop (?:table|view) (?:if exists )?plait\.(\w+)", statement):
        return lock(match[1], "AccessExclusiveLock", "none")
    if match := re.match(r"drop index (?:if exists )?plait\.(\w+)", statement):
        return lock(match[1], "AccessExclusiveLock", "none")  # it also locks the index's table, which the plan looks up
    if match := re.match(r"create (?:or replace )?view plait\.(\w+)", statement):
        return lock(match[1], "AccessExclusiveLock", "none") if " or replace " in statement else []
    if match := re.match(r"insert into plait\.(\w+)", statement):
        return lock(match[1], "RowExclusiveLock", "none")
    if match := re.match(r"(?:update|delete from) plait\.(\w+)", statement):
        return lock(match[1], "RowExclusiveLock", "writes it all")  # this locks every updated row
    if re.match(r"alter index plait\.\w+ set \(", statement):
        return []  # locks only the index, and blocks nothing
    if re.match(r"create (table|type|schema|function|or replace function)|select\b|comment on|grant|revoke", statement):
        return []
    return lock("?", None, "unknown")


def _work_of(actions: str) -> Work:
    """The work that ALTER TABLE does while it holds its lock: the work of its most expensive action."""
    works = [_work_of_one(action) for action in _apart(actions)]
    return max(works, key=("none", "reads it all", "writes it all", "unknown").index)


def _work_of_one(action: str) -> Work:
    if re.match(r"alter column \w+ (set data )?type\b|set (un)?logged", action):
        return "writes it all"
    if re.match(r"add column\b.*\bdefault (?!now\b)[\w.]+\(", action):
        return "writes it all"  # computed for each row
    if re.match(r"add (constraint|check|unique|primary|foreign|exclude)\b", action):
        return "none" if action.endswith(" not valid") else "reads it all"
    if re.match(
        r"alter column \w+ set not null|validate constraint|add column\b.*\b(check|unique|references)\b", action
    ):
        return "reads it all"
    return "none"


def _apart(actions: str) -> list[str]:
    """Split one ALTER TABLE into its actions, at commas outside of parentheses."""
    found, depth = [""], 0
    for sign in actions:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [action.strip() for action in found]


def statements_in(text: str) -> Iterator[str]:
    """Yield each statement on one line, in lower case, without comments."""
    part = ""
    for token in re.finditer(_TOKEN, text):
        if token.lastgroup == "comment":
            continue
        if token.lastgroup == "end":
            if part.strip():
                yield " ".join(part.split())
            part = ""
        else:
            part += token[0] if token.lastgroup == "quoted" else token[0].lower()
    if part.strip():
        yield " ".join(part.split())


_TOKEN: Final = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<quoted>'(?:[^']|'')*'|\"[^\"]*\"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)|(?P<end>;)|(?P<other>.)",
    re.DOTALL,
)
