/** API keys with their roles and times of last use. Keys can be created and revoked. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { call } from "../api/client";
import { useChange, useRead, useTenant } from "../api/hooks";
import { flag, searchOf } from "../api/search";
import { useSession } from "../api/session";
import type { Key } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Confirm, useDialog } from "../parts/Dialog";
import { Page } from "../parts/Page";
import { Empty, Failed, Loading } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Time } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { useCommands } from "../shell/Palette";
import { NewKey } from "./new-key";
import { useTenantNames } from "./tenant-names";
import "./keys.css";

const params = searchOf({ ended: flag });

type Asked = { what: "new" } | { what: "revoke"; key: Key };

export default function Keys() {
  const [{ ended }, setSearch] = params.use();
  const session = useSession();
  const tenantOf = useTenantNames();
  const keys = useAllKeys();
  const dialog = useDialog<Asked>();
  const makes = session.can("POST /keys");
  const rows = useMemo(() => keys.rows.filter((key) => ended || stateOf(key) === "active"), [keys.rows, ended]);
  const columns = useMemo(() => columnsFor(tenantOf, session.can("DELETE /keys/{key_id}") ? (key) => dialog.open({ what: "revoke", key }) : null), [tenantOf, session]); // eslint-disable-line
  const begin = () => dialog.open({ what: "new" });
  useKeys("API keys", makes ? { n: ["Create API key", begin] } : {});
  useCommands(makes ? [{ label: "Create API key", icon: "plus", act: begin }] : []);
  return (
    <Page
      fill
      title="API keys"
      actions={
        <>
          <label className="check">
            <input type="checkbox" checked={ended} onChange={(event) => setSearch({ ended: event.target.checked }, { replace: true })} />
            Show revoked and expired keys
          </label>
          {makes && (
            <Button kind="primary" icon="plus" onClick={begin}>
              Create API key
            </Button>
          )}
        </>
      }
    >
      {keys.error && !keys.rows.length ? (
        <Failed error={keys.error} again={keys.reload} />
      ) : keys.loading ? (
        <Loading />
      ) : rows.length ? (
        <Table label="API keys" columns={columns} rows={rows} keyOf={(key) => key.id} rowHeight={44} onEnd={keys.next} foot={keys.hasMore ? <Button onClick={keys.next}>Load more</Button> : null} />
      ) : (
        <Empty title="No API keys" icon="keys">
          {makes && <Button onClick={begin}>Create API key</Button>}
        </Empty>
      )}
      {dialog.about?.what === "new" && <NewKey onMade={keys.reload} onClose={dialog.close} />}
      {dialog.about?.what === "revoke" && <RevokeDialog asked={dialog.about.key} onDone={keys.reload} onClose={dialog.close} />}
    </Page>
  );
}

function useAllKeys() {
  const tenant = useTenant();
  const client = useQueryClient();
  const queryKey = useMemo(() => ["GET /keys", "pages", tenant], [tenant]);
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => call("GET /keys", { query: { limit: 200, cursor: pageParam } }, tenant, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: 15_000,
  });
  return {
    rows: useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]),
    error: found.error,
    loading: found.isPending,
    hasMore: found.hasNextPage,
    next: useCallback(() => void (found.hasNextPage && !found.isFetchingNextPage && found.fetchNextPage()), [found]),
    reload: useCallback(() => void client.invalidateQueries({ queryKey }), [client, queryKey]),
  };
}

function stateOf(key: Key): "active" | "expired" | "revoked" {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? "expired" : "active";
}

const SOON_MS = 7 * 86_400_000;

function columnsFor(tenantOf: (id: string | null) => string | null, onRevoke: ((key: Key) => void) | null): Column<Key>[] {
  return [
    {
      key: "name",
      title: "Name",
      width: "minmax(180px, 1.6fr)",
      cell: (key) => (
        <>
          <strong title={key.name}>{key.name}</strong>
          {stateOf(key) !== "active" && <Tag tone="bad">{stateOf(key)}</Tag>}
        </>
      ),
    },
    { key: "hint", title: "Prefix", width: "124px", cell: (key) => <code>{`${key.hint}…`}</code> },
    { key: "role", title: "Role", width: "110px", cell: (key) => <Tag>{key.role}</Tag> },
    ...(tenantOf("") === null ? [] : [{ key: "tenant", title: "Tenant", width: "120px", cell: (key: Key) => tenantOf(key.tenant_id) ?? <span className="quiet">all</span> }]),
    { key: "used", title: "Last used", width: "116px", cell: (key) => (key.last_used_at ? <Time at={key.last_used_at} /> : <span className="quiet">never</span>) },
    {
      key: "expires",
      title: "Expires",
      width: "116px",
      cell: (key) =>
        key.expires_at ? (
          <span className={stateOf(key) === "active" && Date.parse(key.expires_at) - Date.now() < SOON_MS ? "warn" : ""}>
            <Time at={key.expires_at} />
          </span>
        ) : (
          <span className="quiet">never</span>
        ),
    },
    { key: "created", title: "Created", width: "116px", cell: (key) => <Time at={key.created_at} /> },
    ...(onRevoke
      ? [
          {
            key: "actions",
            title: <span className="hidden">Actions</span>,
            width: "104px",
            align: "right" as const,
            cell: (key: Key) =>
              key.revoked_at === null && (
                <Button aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
                  Revoke
                </Button>
              ),
          },
        ]
      : []),
  ];
}

function RevokeDialog({ asked, onDone, onClose }: { asked: Key; onDone: () => void; onClose: () => void }) {
  const revoke = useChange("DELETE /keys/{key_id}", {
    success: "API key revoked.",
    then: () => {
      onDone();
      onClose();
    },
  });
  const below = useRead("GET /keys/{key_id}/descendants", { path: { key_id: asked.id } });
  const [all, setAll] = useState(false);
  const valid = below.data?.items.filter((key) => stateOf(key) === "active") ?? [];
  return (
    <Confirm
      title={`Revoke ${asked.name}?`}
      action={all ? `Revoke ${valid.length + 1} keys` : "Revoke key"}
      danger
      busy={revoke.isPending}
      onConfirm={() => revoke.mutate({ path: { key_id: asked.id }, query: all ? { descendants: true } : {} })}
      onClose={onClose}
    >
      <p>Within seconds, requests with this key will be rejected and its sessions will end. This can't be undone.</p>
      {asked.last_used_at && (
        <p className="warn">
          Last used <Time at={asked.last_used_at} />.
        </p>
      )}
      {valid.length > 0 && (
        <>
          <p>These keys were created with this key. They stay valid unless you revoke them too:</p>
          <ul>
            {valid.slice(0, 20).map((key) => (
              <li key={key.id}>
                {key.name} ({key.role})
              </li>
            ))}
            {valid.length > 20 && <li>and {valid.length - 20} more</li>}
          </ul>
          <label className="check">
            <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
            Revoke these keys too
          </label>
        </>
      )}
    </Confirm>
  );
}
