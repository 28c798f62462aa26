"""Load an application from `app.py`, `app.py:app`, `module` or `module:app`.

A file is imported under its own module name, with its directory on `sys.path`, because jobs with isolation="process"
are imported by that name in another process.
"""

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from plait.cli.errors import BadApp
from plait.sdk.app import Plait


def load_app(spec: str) -> Plait:
    """Load the Plait object that `spec` names. If there is none, or more than one, the error says what to write."""
    where, name = _split(spec)
    module = _import_file(Path(where)) if where.endswith(".py") else _import_module(where)
    return _only(module, where) if name is None else _named(module, where, name)


def _split(spec: str) -> tuple[str, str | None]:
    where, colon, name = spec.rpartition(":")
    return (where, name) if colon and where and name.isidentifier() else (spec, None)


def _import_file(path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise BadApp(f"file {path} not found")
    directory, name = path.parent, path.stem
    if "." in name:
        raise BadApp(f"{path.name} cannot be imported: a module name cannot contain dots. Rename the file.")
    while (directory / "__init__.py").exists():  # part of a package: its relative imports must work
        directory, name = directory.parent, f"{directory.name}.{name}"
    sys.path[:0] = [str(directory)] if str(directory) not in sys.path[:1] else []
    module = _import(name, str(path))
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path:
        raise BadApp(
            f"{path.name} cannot be imported: {name!r} is already {found or 'a built-in module'}. Rename the file."
        )
    return module


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise BadApp(f"an app must be given as app.py, app.py:app, module or module:app, got {name!r}")
    here = str(Path.cwd())
    sys.path[:0] = [here] if here not in sys.path else []
    return _import(name, name)


def _import(name: str, shown: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = f" Did you mean {name}.py?" if Path(f"{name}.py").is_file() else ""
            raise BadApp(f"module {name!r} not found in the current directory or on PYTHONPATH.{hint}") from None
        raise BadApp(f"{shown} cannot be loaded: {error}{_place(error)}") from error
    except (Exception, SystemExit) as error:
        raise BadApp(f"{shown} cannot be loaded: {type(error).__name__}: {error}{_place(error)}") from error


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return ""  # a syntax error already has the file and line
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if len(frames) > 1 else ""


def _named(module: ModuleType, where: str, name: str) -> Plait:
    found = getattr(module, name, None)
    if not isinstance(found, Plait):
        raise BadApp(f"{where} has no Plait object called {name!r}" + _choices(module))
    return found


def _only(module: ModuleType, where: str) -> Plait:
    found = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, Plait)}
    match list(found.values()):
        case [(_, app)]:
            return app
        case []:
            raise BadApp(f"no Plait object found in {where}. Add `app = Plait()`.")
        case several:
            names = ", ".join(name for name, _ in several)
            raise BadApp(f"{where} has several Plait objects ({names}): choose one, as in {where}:{several[0][0]}")


def _choices(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Plait)]
    return f"; it has {', '.join(names)}" if names else ""
