"""Jobs for handlers in processes: a child process imports them by module and name."""

from typing import Any

from plait import Plait
from plait.runtime.settings import Settings

from .hostile_values import ERRORS, FIXED

app = Plait("postgresql://nowhere.invalid/", settings=Settings(poll=0.05, listen=False))


@app.job(isolation="process", retries=0)
def returns(index: int) -> Any:
    return FIXED[index]


@app.job(isolation="process", retries=0)
def raises(index: int) -> None:
    raise ERRORS[index]()  # noqa: RSE102 - a function that returns an exception


def app_on(url: str) -> Plait:
    """The app, connected to the database of a test."""
    app.target = type(app.target)(url)
    return app
