from plait import Plait

app = Plait()
@app.job
async def hello(name: str) -> str:
    return f"Hello, {name}!"
