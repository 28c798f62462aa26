import { useMemo } from "react";
import { useRead, useTenant } from "../api/hooks";
import { useSession } from "../api/session";
import type { Column } from "../parts/Table";

/** Maps a tenant's id to its slug while all tenants are shown. Returns null otherwise, and for objects without a tenant. */
export function useTenantNames(): (id: string | null) => string | null {
  const session = useSession();
  const tenant = useTenant();
  const across = session.isSuper && tenant === null;
  const tenants = useRead("GET /tenants", undefined, { enabled: across });
  return useMemo(() => {
    const names = new Map(tenants.data?.items.map(({ id, slug }) => [id, slug]));
    return (id) => (across && id !== null ? (names.get(id) ?? id) : null);
  }, [tenants.data, across]);
}

/** The columns of a list. While all tenants are shown, the second column is the tenant. */
export function withTenant<Row extends { tenant_id: string }>(columns: readonly Column<Row>[], tenantOf: (id: string | null) => string | null): Column<Row>[] {
  if (tenantOf("") === null) return [...columns];
  const [first, ...rest] = columns;
  return [...(first ? [first] : []), { key: "tenant", title: "Tenant", width: "minmax(76px, 0.7fr)", cell: (row) => tenantOf(row.tenant_id) }, ...rest];
}
