"""A job at module level, so that another process can import it."""

from plait import Plait

app = Plait()


@app.job(isolation="process")
def double(text: str) -> str:
    return text * 2
