import sys
from pathlib import Path

from . import faults, format_sql

SQL = Path(__file__).resolve().parents[2] / "plait" / "sql"


def files() -> list[Path]:
    """All files of plait/sql except migrations: 0001 is generated from the schema, and released migrations are frozen."""
    return sorted(path for path in SQL.rglob("*.sql") if path.parent.name != "migrations")


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    found = []
    for path in [Path(one) for one in arguments if one != "--check"] or files():
        text = path.read_text()
        formatted = format_sql(text)
        if formatted != text and check:
            found.append(f"{path}: not formatted: run make format")
        elif formatted != text:
            path.write_text(formatted)
        found += [f"{path}: {fault}" for fault in faults(formatted)]
    sys.stderr.write("".join(f"{one}\n" for one in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
