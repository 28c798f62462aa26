import { useMemo } from "react";
import { useRead, useTenant } from "../api/hooks";
import { useSession } from "../api/session";

/** A tenant's slug by its id, for who sees more than one at a time; null for everybody else, and for what is no tenant's. */
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
