"""Numbered tenants, for measures with many tenants. A driver can compute their ids."""

from uuid import UUID

CREATE = """
insert into plait.tenants (id, slug, name)
select ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench-' || n, 'Bench ' || n
from generate_series(0, {last}) n
"""


def tenant_id(number: int) -> UUID:
    return UUID(f"00000000-0000-7000-9000-{number:012x}")
