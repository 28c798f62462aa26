"""A job at the top of a module, so that another process finds it."""

from plait import Plait

app = Plait()


@app.job(isolation="process")
def double(text: str) -> str:
    return text * 2
