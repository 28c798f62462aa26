"""The operator's network policy: the hosts, networks, ports and schemes that a worker's connectors may use. It comes from the worker's own
settings, never from a payload or a table (T122)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from plait.connectors.addresses import Address, Network, forms, is_public, network
from plait.connectors.urls import Refused, Url
from plait.model.errors import InvalidDefinition

_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")

_INTERNAL_NAMES: Final = ("localhost", "local", "internal", "localdomain", "home.arpa", "lan", "intranet", "corp")
"""Names that do not exist on the public internet. Resolved addresses are checked too."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts by name (`api.example.com`), by subdomain (`*.example.com`), or by network (`10.0.0.0/8`). `*` matches any host."""

    any: bool = False
    names: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str], *, what: str) -> "Hosts":
        names, suffixes, networks, everything = set(), [], [], False
        for written in entries:
            entry = written.strip().lower().removesuffix(".")
            if not entry:
                continue
            if entry == "*":
                everything = True
            elif (found := network(entry)) is not None:
                networks.append(found)
            elif not _NAME.fullmatch(entry):
                raise InvalidDefinition(
                    f"{what} must be hosts like api.example.com, *.example.com, 10.0.0.0/8 or *, got {entry!r}"
                )
            elif entry.startswith("*."):
                suffixes.append(entry[1:])  # including its dot: `*.example.com` must not match evilexample.com (T121)
            else:
                names.add(entry)
        return cls(everything, frozenset(names), tuple(suffixes), tuple(networks))

    def __bool__(self) -> bool:
        return self.any or bool(self.names or self.suffixes or self.networks)

    def has(self, url: Url) -> bool:
        """Whether a URL's host is listed, by its name or by the network of its address."""
        if self.any or url.host in self.names or any(url.host.endswith(suffix) for suffix in self.suffixes):
            return True
        return url.address is not None and self.has_address(url.address)

    def has_address(self, address: Address) -> bool:
        return any(one in net for one in forms(address) for net in self.networks if one.version == net.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`hosts` are allowed; `deny` overrides everything else. `networks` are internal networks that are allowed."""

    hosts: Hosts
    deny: Hosts = field(default_factory=Hosts)
    networks: Hosts = field(default_factory=Hosts)
    ports: frozenset[int] = frozenset({80, 443})
    schemes: frozenset[str] = frozenset({"https"})

    def check_url(self, url: Url) -> None:
        """Run all checks that need no name resolution."""
        if url.scheme not in self.schemes:
            raise Refused(f"{url.scheme} is not allowed: use https, or set PLAIT_CONNECTOR_SCHEMES")
        if url.port not in self.ports:
            raise Refused(f"port {url.port} is not allowed by PLAIT_CONNECTOR_PORTS")
        if self.deny.has(url):
            raise Refused(f"{url.host} is denied by PLAIT_CONNECTOR_DENY")
        if not self.hosts.has(url):
            raise Refused(f"{url.host} is not one of the hosts that the operator's settings allow")
        if url.address is not None:
            self.check_address(url, url.address)
        elif not self._named(url) and (
            "." not in url.host or url.host.endswith(_DOTTED) or url.host in _INTERNAL_NAMES
        ):
            raise Refused(f"{url.host} is the name of an internal host, which is not allowed")

    def check_address(self, url: Url, address: Address) -> None:
        if self.deny.has_address(address):
            raise Refused(f"{url.host} resolves to {address}, which is denied by PLAIT_CONNECTOR_DENY")
        if not is_public(address) and not self.networks.has_address(address):
            raise Refused(f"{url.host} resolves to {address}, which is not a public address")

    def _named(self, url: Url) -> bool:
        """Whether the operator has listed an internal name explicitly."""
        return bool(self.networks) and (
            url.host in self.hosts.names or any(url.host.endswith(suffix) for suffix in self.hosts.suffixes)
        )


_DOTTED: Final = tuple(f".{name}" for name in _INTERNAL_NAMES)
