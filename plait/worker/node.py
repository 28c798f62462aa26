"""The name of the node that a worker runs on."""

import platform
import re

from plait.model.errors import InvalidDefinition
from plait.model.policies import NODE_NAME
from plait.model.texts import shown


def node_name(named: str | None) -> str:
    """The node's name: the given name, otherwise the host name with `-` in place of characters that are not allowed."""
    if named is None:
        return re.sub(r"[^A-Za-z0-9_.:-]", "-", platform.node())[:100] or "node"
    if not NODE_NAME.fullmatch(named):
        raise InvalidDefinition(f"a node's name must be 1 to 100 letters, digits and _ . : -, got {shown(named)}")
    return named
