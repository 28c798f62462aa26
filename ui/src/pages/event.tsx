/** One event: its data, and the outcome of each trigger. */

import { Link, useParams } from "@tanstack/react-router";
import { useRead } from "../api/hooks";
import type { EventPage, Fire } from "../api/types";
import { Copy, Id } from "../parts/Code";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Facts, Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Time } from "../parts/Time";
import { OutcomeTag } from "./events";
import { jobsWith } from "./job-filter";
import { useTenantNames } from "./tenant-names";
import { outcome } from "./trigger-words";
import "./triggers.css";

export default function Event() {
  const { eventId } = useParams({ strict: false }) as { eventId: string };
  const event = useRead("GET /events/{event_id}", { path: { event_id: eventId } }, { poll: 3000 });
  return <Loaded query={event} what="event">{(found) => <Shown event={found} />}</Loaded>;
}

function Shown({ event }: { event: EventPage }) {
  const tenantOf = useTenantNames();
  return (
    <Page
      above={
        <>
          <Link to="/events">Events</Link>
          <Icon name="right" size={12} />
          <code>{event.id}</code>
          <Copy text={event.id} label="Copy id" />
        </>
      }
      title={
        <>
          {event.name}
          <OutcomeTag event={event} />
        </>
      }
    >
      {event.error && (
        <section className="trouble" aria-label="Error">
          <Icon name="alert" />
          <pre>{event.error}</pre>
        </section>
      )}
      <div className="two">
        <Panel title="Data">
          <div className="body">
            <Json value={event.data} label="data" open={4} />
          </div>
        </Panel>
        <Panel title="Details">
          <div className="body">
            <Facts
              facts={[
                ["Tenant", tenantOf(event.tenant_id)],
                ["Received", <Time at={event.at} />],
                ["Dispatched", event.dispatched_at ? <Time at={event.dispatched_at} /> : "pending"],
                ["Jobs created", event.jobs],
                ["Deduplicated", event.deduplicated > 0 && `${event.deduplicated} ${event.deduplicated === 1 ? "trigger" : "triggers"} created no new job, because a matching job already existed`],
                ["Correlation id", event.correlation_id && <Link to="/jobs" search={jobsWith({ correlation: event.correlation_id }) as never}>{event.correlation_id}</Link>],
              ]}
            />
          </div>
        </Panel>
      </div>
      <Panel title="Triggers">
        {event.fires.length ? (
          <Table label="Triggers" columns={COLUMNS} rows={event.fires} keyOf={(one) => one.id} maxHeight={420} />
        ) : (
          <Empty title={event.dispatched_at ? "No trigger matches this event" : "Waiting for the leader to dispatch this event"} icon="triggers" />
        )}
      </Panel>
    </Page>
  );
}

const COLUMNS: Column<Fire>[] = [
  {
    key: "trigger", title: "Trigger", width: "minmax(180px, 1fr)",
    cell: (one) => (
      <Link to="/triggers/$triggerId" params={{ triggerId: one.trigger_id }} title={one.label}>
        {one.label}
      </Link>
    ),
  },
  { key: "outcome", title: "Outcome", width: "120px", cell: outcome },
  {
    key: "job", title: "Job", width: "180px",
    cell: (one) =>
      one.job_id ? (
        <>
          <Link to="/jobs/$jobId" params={{ jobId: one.job_id }}><Id id={one.job_id} /></Link>
          {one.outcome === "deduplicated" && <span className="quiet">existing</span>}
        </>
      ) : (
        <span className="quiet">–</span>
      ),
  },
  { key: "error", title: "Error", width: "minmax(220px, 2fr)", cell: (one) => <span className="mono quiet" title={one.error ?? ""}>{one.error ?? ""}</span> },
];
