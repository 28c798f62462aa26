"""URLs, parsed strictly and once. Requests are built from the parsed parts, so that no second parser can interpret the URL differently.

Only unambiguous URLs are accepted: no credentials, backslashes or control characters, no numbers that some resolvers parse as an address
(`127.1`, `0x7f.1`, `2130706433`, `0177.0.0.1`), and no IPv6 scopes.
"""

import contextlib
import re
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import quote, urljoin

import idna

from plait.connectors.addresses import Address
from plait.model.errors import PlaitError
from plait.model.texts import shown

MOST: Final = 8_192
PORTS: Final = {"http": 80, "https": 443}

_PARTS: Final = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@%\\]+)(?::([0-9]{1,5}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


class Refused(PlaitError):
    """The request was not sent, because it is not valid or the network policy does not allow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """`host` is a name in lower case, or an address in its canonical form; `target` is the path and the query."""

    scheme: str
    host: str
    port: int
    target: str
    address: Address | None
    """The host's address, if the host is an IP address."""

    @property
    def origin(self) -> str:
        """Scheme, host and port. URLs with the same origin belong to the same server."""
        return f"{self.scheme}://{self._shown_host}:{self.port}"

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        return self._shown_host if self.port == PORTS[self.scheme] else f"{self._shown_host}:{self.port}"

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def without_query(self) -> str:
        """The URL for messages, without its query, which may contain a secret."""
        return str(replace(self, target=self.target.partition("?")[0]))


def parse(text: str) -> Url:
    """Parse a URL. Raises `Refused` if it is not a plain http or https URL."""
    if len(text) > MOST:
        raise Refused(f"a URL must have at most {MOST:,} characters")
    if any(ord(char) <= 0x20 or 0x7F <= ord(char) <= 0x9F for char in text) or "\\" in text:
        raise Refused("a URL must not contain white space, control characters or backslashes")
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise Refused(f"a URL must begin with https:// or http://, got {shown(text[:20])}")
    scheme, authority, target = parts[1].lower(), parts[2], parts[3]
    if "@" in authority:
        raise Refused("a URL must not contain a user name or password: use a header")
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise Refused(f"a URL's host must be a name or an address with an optional port, got {shown(authority[:80])}")
    host, address = _host(found[1])
    port = PORTS[scheme] if found[2] is None else int(found[2])
    if not 1 <= port <= 65535:
        raise Refused("a URL's port must be between 1 and 65535")
    target = quote(target, safe=_PRINTABLE)
    if not target.startswith("/"):
        target = f"/{target}"
    return Url(scheme=scheme, host=host, port=port, target=target, address=address)


def follow(url: Url, location: str) -> Url:
    """The URL that a redirect points to."""
    with contextlib.suppress(UnicodeError):
        # Headers are decoded as Latin-1, but a location that is not ASCII is usually UTF-8.
        location = location.encode("latin-1").decode()
    try:
        return parse(urljoin(str(url), location.strip(" \t")))
    except ValueError as error:
        raise Refused(f"redirected to an invalid URL: {error}") from None


def _host(text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        try:
            address = IPv6Address(text[1:-1])
        except AddressValueError as error:
            raise Refused(f"{shown(text)} is not a valid IPv6 address: {error}") from None
        return str(address), address
    if not text.isascii():
        try:
            text = idna.encode(text.lower()).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise Refused(f"{shown(text[:80])} is not a valid host name: {error}") from None
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused(f"{shown(text[:80])} is not a valid host name")
    if any(label.startswith("xn--") for label in labels):
        try:
            idna.decode(host)
        except (idna.IDNAError, UnicodeError) as error:
            raise Refused(f"{shown(text[:80])} is not a valid host name: {error}") from None
    # No top-level domain begins with a digit, but the last part of every form of an IPv4 address does.
    if labels[-1][0].isdigit():
        try:
            address4 = IPv4Address(host)
        except AddressValueError:
            raise Refused(f"{shown(text[:80])} is neither a host name nor a dotted IPv4 address") from None
        if text.endswith("."):
            raise Refused("an address must not end with a dot")
        return str(address4), address4
    return host, None
