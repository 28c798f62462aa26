"""The name of the machine that a worker is on."""

import platform
import re

from plait.model.errors import InvalidDefinition
from plait.model.policies import NODE_NAME
from plait.model.texts import shown


def node_name(named: str | None) -> str:
    """The node's name: as given, else the host's, with whatever a name can't have left out."""
    if named is None:
        return re.sub(r"[^A-Za-z0-9_.:-]", "-", platform.node())[:100] or "node"
    if not NODE_NAME.fullmatch(named):
        raise InvalidDefinition(f"a node's name is 1 to 100 letters, digits and _ . : -, not {shown(named)}")
    return named
