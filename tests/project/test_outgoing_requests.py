"""Only `plait.connectors.client` makes outgoing requests. No other module may use HTTP clients, or resolve names."""

import ast
from pathlib import Path

import pytest

from .source_files import name_of, sources

HTTP_CLIENT = "plait/connectors/client.py"
SPEAK_HTTP = {"httpcore", "httpcore2", "httpx", "httpx2", "aiohttp", "requests", "urllib3", "urllib.request", "http.client", "ftplib", "smtplib",
              "telnetlib", "xmlrpc", "websockets", "pycurl", "niquests"}  # fmt: skip
CONNECT = {
    "create_connection",
    "open_connection",
    "connect_tcp",
    "getaddrinfo",
    "gethostbyname",
    "urlopen",
    "sock_connect",
}

EXCUSED = {
    "plait/api/oidc_provider.py": ["httpx2"],  # the identity provider that the operator has named
    "plait/runtime/listening.py": ["getaddrinfo"],  # where to listen
    "plait/worker/processes.py": ["open_connection"],  # on a socket pair that it holds both ends of
}


@pytest.mark.parametrize("path", sources("plait", ".py"), ids=name_of)
def test_nothing_else_makes_requests(path: Path) -> None:
    if name_of(path) != HTTP_CLIENT:
        assert ways_out(path.read_text()) == EXCUSED.get(name_of(path), [])


def test_the_way_out_would_be_found() -> None:
    assert ways_out("import httpx") == ["httpx"]
    assert ways_out("from urllib import request\nrequest.urlopen(x)") == ["urllib.request", "urlopen"]
    assert ways_out("import urllib.request as r") == ["urllib.request"]
    assert ways_out("def f():\n    from http import client") == ["http.client"]
    assert ways_out("await loop.create_connection(x)") == ["create_connection"]
    assert ways_out("from urllib.parse import quote\nimport http") == []
    assert ways_out(Path(HTTP_CLIENT).read_text()) != []


def ways_out(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{item.name}" for item in node.names)]
        found += [name for name in names if name in SPEAK_HTTP or name.split(".")[0] in SPEAK_HTTP]
        if isinstance(node, ast.Attribute) and node.attr in CONNECT:
            found.append(node.attr)
    return found
