/** Received events, the triggers that they matched, and their errors. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { call } from "../api/client";
import { useChange, useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { flag, searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Event } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Id } from "../parts/Code";
import { Dialog, useDialog } from "../parts/Dialog";
import { Page } from "../parts/Page";
import { isObject, JsonField } from "../parts/SchemaForm";
import { Empty, Failed, Loading } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Time } from "../parts/Time";
import { useCommands } from "../shell/Palette";
import { useTenantNames, withTenant } from "./tenant-names";
import "./triggers.css";

const params = searchOf({ name: text, failed: flag });

export default function Events() {
  const session = useSession();
  const navigate = useNavigate();
  const dialog = useDialog();
  const [{ name, failed }, setSearch] = params.use();
  const events = useEvents(name, failed);
  const tenantOf = useTenantNames();
  const columns = useMemo(() => withTenant(COLUMNS, tenantOf), [tenantOf]);
  const may = session.can("POST /events");
  useCommands(may ? [{ label: "Send event", icon: "events", act: () => dialog.open(true) }] : []);
  return (
    <Page
      fill
      title="Events"
      actions={
        may && (
          <Button icon="events" onClick={() => dialog.open(true)}>
            Send event
          </Button>
        )
      }
    >
      <div className="tools">
        <input className="narrow" type="search" aria-label="Event name" placeholder="Exact event name" value={name} onChange={(event) => setSearch({ name: event.target.value }, { replace: true })} />
        <label className="check tall">
          <input type="checkbox" checked={failed} onChange={(event) => setSearch({ failed: event.target.checked })} />
          Errors only
        </label>
      </div>
      {events.error && !events.rows.length ? (
        <Failed error={events.error} again={events.again} />
      ) : events.loading ? (
        <Loading />
      ) : events.rows.length ? (
        <Table label="Events" columns={columns} rows={events.rows} keyOf={(one) => one.id} onEnd={events.next} onOpen={(one) => void navigate({ to: "/events/$eventId", params: { eventId: one.id } })} />
      ) : (
        <Empty title={name || failed ? "No matching events" : "No events yet"} icon="events">
          {!name && !failed && <p className="quiet">Events that applications send are listed here with the jobs they created.</p>}
        </Empty>
      )}
      {dialog.about && <SendDialog onClose={dialog.close} />}
    </Page>
  );
}

const COLUMNS: Column<Event>[] = [
  {
    key: "name", title: "Event", width: "minmax(180px, 2fr)",
    cell: (one) => (
      <Link to="/events/$eventId" params={{ eventId: one.id }} title={one.name}>
        {one.name}
      </Link>
    ),
  },
  { key: "at", title: "Received", width: "110px", cell: (one) => <Time at={one.at} /> },
  { key: "state", title: "Outcome", width: "150px", cell: (one) => <OutcomeTag event={one} /> },
  { key: "error", title: "Error", width: "minmax(160px, 2fr)", cell: (one) => <span className="mono quiet" title={one.error ?? ""}>{one.error ?? ""}</span> },
  { key: "data", title: "Data", width: "minmax(160px, 2fr)", cell: (one) => <code title="Open the event to see all data">{stringify(one.data).slice(0, 160)}</code> },
  { key: "id", title: "Id", width: "124px", cell: (one) => <Id id={one.id} /> },
];

/** The outcome as a tag. */
export function OutcomeTag({ event }: { event: Event }) {
  if (event.error) return <Tag tone="bad" title={event.error}>error</Tag>;
  if (!event.dispatched_at) return <Tag>pending</Tag>;
  if (event.jobs + event.deduplicated === 0) return <Tag tone="warn">no match</Tag>;
  return (
    <>
      {event.jobs > 0 && <Tag tone="good">{`${event.jobs} ${event.jobs === 1 ? "job" : "jobs"}`}</Tag>}
      {event.deduplicated > 0 && <Tag title="A job with the same dedupe key or payload already exists, so no new job was created">deduplicated</Tag>}
    </>
  );
}

function useEvents(name: string, failed: boolean) {
  const tenant = useTenant();
  const found = useInfiniteQuery({
    queryKey: ["GET /events", "all", tenant, name, failed],
    queryFn: ({ pageParam, signal }) => call("GET /events", { query: { name: name.trim() || undefined, failed, cursor: pageParam, limit: 100 } }, tenant, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next ?? undefined,
    // The stream has no events for this list, so poll it as long as only the first page is loaded.
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) > 1 ? false : 4000),
  });
  return {
    rows: useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]),
    error: found.error,
    loading: found.isPending,
    again: () => void found.refetch(),
    next: useCallback(() => void (found.hasNextPage && !found.isFetchingNextPage && found.fetchNextPage()), [found]),
  };
}

function SendDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [data, setData] = useState<unknown>({});
  const [fault, setFault] = useState<string | null>(null);
  const navigate = useNavigate();
  const send = useChange("POST /events", {
    success: "Event received.",
    then: ({ ids }) => {
      onClose();
      if (ids[0]) void navigate({ to: "/events/$eventId", params: { eventId: ids[0] } });
    },
  });
  return (
    <Dialog title="Send event" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!fault) send.mutate({ raw: stringify({ name: name.trim(), data: data ?? {} }) });
        }}
      >
        <label className="field">
          Name
          <input required maxLength={200} pattern="[A-Za-z0-9_.:\/\-]{1,200}" placeholder="provider.folder.updated" value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <JsonField
          label="Data"
          rows={8}
          value={data}
          onFault={setFault}
          onChange={(next) => {
            setFault(next === undefined || isObject(next) ? null : "Event data must be a JSON object.");
            setData(next);
          }}
        />
        {fault && (
          <p role="alert" className="bad">
            {fault}
          </p>
        )}
        <footer className="actions">
          <Button onClick={onClose}>Go back</Button>
          <Button kind="primary" type="submit" disabled={fault !== null} busy={send.isPending}>
            Send event
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
