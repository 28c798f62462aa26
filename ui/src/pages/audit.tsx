/** The audit log: who changed what, newest first. Scrolling loads older entries. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { call } from "../api/client";
import { useRead, useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Entry } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Id } from "../parts/Code";
import { Dialog, useDialog } from "../parts/Dialog";
import { Json } from "../parts/Json";
import { Facts, Page } from "../parts/Page";
import { Empty, Failed, Loading } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { absolute, Time } from "../parts/Time";
import { Tokens, type Field, type Token } from "../parts/Tokens";
import { useKeys } from "../shell/keys";
import { useTenantNames } from "./tenant-names";
import "./audit.css";

const params = searchOf({ actor: text, action: text, object: text });
const KEYS = ["actor", "action", "object"] as const;

/** The actions that the API records. */
const ACTIONS = [
  "job.enqueue", "job.cancel", "job.retry", "job.reschedule", "job.signal", "jobs.bulk", "event.emit", "trigger.create", "trigger.change",
  "trigger.delete", "trigger.run", "definition.create", "definition.change", "queue.change", "queue.pause", "queue.resume", "tenant.create",
  "tenant.change", "tenant.refused", "key.create", "key.revoke", "embed.create",
]; // prettier-ignore

export default function Audit() {
  const [search, setSearch] = params.use();
  const filter = useRef<HTMLInputElement>(null);
  const dialog = useDialog<Entry>();
  const names = useKeyNames();
  const tenantOf = useTenantNames();
  const entries = useEntries(search);
  const fields = useMemo(() => fieldsOf(names), [names]);
  const columns = useMemo(() => columnsFor(names, tenantOf), [names, tenantOf]);
  const tokens = KEYS.flatMap((key): Token[] => (search[key] ? [[key, shownAs(key, search[key], names)]] : []));
  const change = (next: Token[]) => setSearch(Object.fromEntries(KEYS.map((key) => [key, meantBy(key, next.findLast(([own]) => own === key)?.[1] ?? "", names)])));
  useKeys("Audit log", { "/": ["Filter", () => filter.current?.focus()] });
  return (
    <Page fill title="Audit log">
      <div className="tools">
        <Tokens inputRef={filter} fields={fields} tokens={tokens} textField="object" placeholder="Filter: action:job.cancel, actor:…, or the id of an object" onChange={change} />
      </div>
      {entries.error && !entries.rows.length ? (
        <Failed error={entries.error} again={entries.again} />
      ) : entries.loading ? (
        <Loading />
      ) : entries.rows.length ? (
        <Table
          label="Audit log"
          columns={columns}
          rows={entries.rows}
          keyOf={(entry) => entry.id}
          onOpen={dialog.open}
          onEnd={entries.next}
          foot={entries.more ? "Loading…" : entries.hasMore ? <Button onClick={entries.next}>Search further back</Button> : null}
        />
      ) : (
        <Empty title={tokens.length ? "No matching entries" : "No entries yet"} icon="audit">
          {tokens.length ? <Button onClick={() => change([])}>Clear filters</Button> : <p className="quiet">Every change made through the API is recorded here.</p>}
        </Empty>
      )}
      {dialog.about && <EntryDialog entry={dialog.about} who={whoOf(dialog.about.actor, names)} tenant={tenantOf(dialog.about.tenant_id)} onClose={dialog.close} />}
    </Page>
  );
}

type Filter = { actor: string; action: string; object: string };

function useEntries({ actor, action, object }: Filter) {
  const tenant = useTenant();
  const found = useInfiniteQuery({
    queryKey: ["GET /audit", "pages", tenant, actor, action, object],
    queryFn: ({ pageParam, signal }) =>
      call("GET /audit", { query: { actor: actor || undefined, action: action || undefined, object: object || undefined, limit: 100, cursor: pageParam } }, tenant, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? undefined,
    // The stream has no events for audit log entries. Poll only the first page, because refetching a longer list would move rows that the user is reading.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 1 ? 5000 : false),
  });
  return {
    rows: useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]),
    error: found.error,
    loading: found.isPending,
    more: found.isFetchingNextPage,
    hasMore: found.hasNextPage,
    next: useCallback(() => void (found.hasNextPage && !found.isFetchingNextPage && found.fetchNextPage()), [found]),
    again: () => void found.refetch(),
  };
}

/** Names of API keys by actor. An actor is the id of a key, and people know keys by name. */
function useKeyNames(): ReadonlyMap<string, string> {
  const session = useSession();
  const keys = useRead("GET /keys", { query: { limit: 1000 } }, { enabled: session.can("GET /keys") });
  return useMemo(() => {
    const items = keys.data?.items ?? [];
    const twice = new Set(items.map(({ name }) => name).filter((name, index, all) => all.indexOf(name) !== index));
    return new Map(items.map(({ id, name, hint }) => [`key ${id}`, twice.has(name) ? `${name} (${hint}…)` : name]));
  }, [keys.data]);
}

const whoOf = (actor: string, names: ReadonlyMap<string, string>) => names.get(actor) ?? actor;
const shownAs = (key: string, value: string, names: ReadonlyMap<string, string>) => (key === "actor" ? whoOf(value, names) : value);
const meantBy = (key: string, value: string, names: ReadonlyMap<string, string>) =>
  key === "actor" ? ([...names].find(([, name]) => name === value)?.[0] ?? value) : value;

function fieldsOf(names: ReadonlyMap<string, string>): Field[] {
  return [
    { key: "actor", about: "API key", values: [...names.values()] },
    { key: "action", about: "recorded action", values: ACTIONS },
    { key: "object", about: "id or name of the changed object" },
  ];
}

function columnsFor(names: ReadonlyMap<string, string>, tenantOf: (id: string | null) => string | null): Column<Entry>[] {
  return [
    { key: "at", title: "Time", width: "110px", cell: (entry) => <Time at={entry.at} /> },
    { key: "actor", title: "Actor", width: "minmax(170px, 1fr)", cell: (entry) => <span title={entry.actor}>{whoOf(entry.actor, names)}</span> },
    { key: "action", title: "Action", width: "150px", cell: (entry) => <Tag tone={entry.action === "tenant.refused" ? "warn" : undefined}>{entry.action}</Tag> },
    { key: "object", title: "Object", width: "minmax(150px, 1fr)", cell: (entry) => <ObjectCell entry={entry} /> },
    ...(tenantOf("") === null ? [] : [{ key: "tenant", title: "Tenant", width: "110px", cell: (entry: Entry) => tenantOf(entry.tenant_id) ?? <span className="quiet">installation</span> }]),
    { key: "detail", title: "Details", width: "minmax(160px, 1.4fr)", cell: (entry) => <code className="cut">{brief(entry.detail)}</code> },
  ];
}

const JOB = /^jobs?\./;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function ObjectCell({ entry }: { entry: Entry }) {
  if (entry.object === null) return <span className="quiet">–</span>;
  if (JOB.test(entry.action) && UUID.test(entry.object))
    return (
      <Link className="mono" to="/jobs/$jobId" params={{ jobId: entry.object }} title={entry.object}>
        <Id id={entry.object} />
      </Link>
    );
  return <span title={entry.object}>{entry.object}</span>;
}

/** The details on one line, without the braces. */
function brief(detail: unknown): string {
  const text = stringify(detail);
  return text === "{}" ? "" : text.slice(1, 200).replace(/\}$/, "");
}

function EntryDialog({ entry, who, tenant, onClose }: { entry: Entry; who: string; tenant: string | null; onClose: () => void }) {
  return (
    <Dialog title={entry.action} className="wide" onClose={onClose}>
      <div className="fields">
        <Facts
          facts={[
            ["Time", absolute(entry.at)],
            ["Actor", who],
            ["Actor id", who === entry.actor ? null : <code>{entry.actor}</code>],
            ["Object", <ObjectCell entry={entry} />],
            ["Tenant", tenant],
            ["Request id", entry.request_id && <code>{entry.request_id}</code>],
          ]}
        />
        <Json value={entry.detail} label="details" open={3} />
      </div>
    </Dialog>
  );
}
