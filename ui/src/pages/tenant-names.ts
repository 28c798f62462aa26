import { useMemo } from "react";
import { useRead, useTenant } from "../api/hooks";
import { useSession } from "../api/session";

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
