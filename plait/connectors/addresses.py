"""Decide whether an IP address is public. IPv6 addresses are denied by default, except in 2000::/3, which contains all public
addresses, so new special ranges are rejected. For IPv4, the special ranges are listed.

Python's `is_global` is not used: it treats NAT64 and 6to4 forms of internal addresses as global, and does not recognise addresses of
cloud providers that look public but are internal (T120).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; Linux treats 0.0.0.0 as the local host
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and a provider's metadata at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # a provider's internal host with a public address
        "169.254.0.0/16",  # link-local: metadata of most providers
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocols, and a provider's metadata at 192.0.0.192
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # relays to 6to4
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_PUBLIC_V6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocols; Teredo, which embeds an IPv4 address, is 2001::/32
        "2001:db8::/32",
        "2002::/16",  # 6to4, which also embeds an IPv4 address
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = 0x5EFE


def is_public(address: Address) -> bool:
    """Whether an address is reachable from anywhere on the internet."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        # In networks without IPv4, resolvers map every IPv4 host to a NAT64 address.
        address = embedded(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    if address.scope_id is not None or (int(address) >> 32) & 0xFDFFFFFF == _ISATAP:
        return False
    return address in _PUBLIC_V6 and not any(address in network for network in _NOT_PUBLIC_V6)


def embedded(address: IPv6Address) -> IPv4Address:
    """The IPv4 address in the last 32 bits."""
    return IPv4Address(int(address) & 0xFFFFFFFF)


def forms(address: Address) -> list[Address]:
    """The address, and the IPv4 address that it embeds. A list of networks matches if it contains either."""
    if isinstance(address, IPv6Address) and (address in _NAT64 or address.ipv4_mapped is not None):
        return [address, embedded(address)]
    return [address]


def network(text: str) -> Network | None:
    """Parse a network in an operator's setting. Returns None if the text is not a network, such as a name."""
    try:
        return ip_network(text.strip("[]"))
    except ValueError:
        return None
