/** All triggers: schedules and event triggers. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead } from "../api/hooks";
import { oneOf, searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Trigger } from "../api/types";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Time } from "../parts/Time";
import { useCommands } from "../shell/Palette";
import { useTenantNames, withTenant } from "./tenant-names";
import { State, When } from "./trigger-words";
import "./triggers.css";

const params = searchOf({ kind: oneOf("all", "schedule", "event"), q: text });

export default function Triggers() {
  const session = useSession();
  const navigate = useNavigate();
  const [{ kind, q }, setSearch] = params.use();
  const triggers = useRead("GET /jobs/triggers", undefined, { live: ["job"], every: 3000, poll: 10_000 });
  const tenantOf = useTenantNames();
  const columns = useMemo(() => withTenant(COLUMNS, tenantOf), [tenantOf]);
  const may = session.can("POST /jobs/triggers");
  const make = () => void navigate({ to: "/triggers/$triggerId", params: { triggerId: "new" } });
  useCommands(may ? [{ label: "Create trigger", icon: "plus", act: make }] : []);
  const shown = useMemo(
    () =>
      (triggers.data?.items ?? []).filter(
        (one) => (kind === "all" || one.trigger_type === kind) && `${one.label} ${one.definition_key} ${one.event_name ?? ""}`.toLowerCase().includes(q.toLowerCase()),
      ),
    [triggers.data, kind, q],
  );
  return (
    <Page
      fill
      title="Triggers"
      actions={
        may && (
          <Button kind="primary" icon="plus" onClick={make}>
            Create trigger
          </Button>
        )
      }
    >
      <div className="tools">
        <input className="narrow" type="search" aria-label="Search triggers" placeholder="Label, definition or event" value={q} onChange={(event) => setSearch({ q: event.target.value }, { replace: true })} />
        <select className="auto" aria-label="Type" value={kind} onChange={(event) => setSearch({ kind: event.target.value as typeof kind })}>
          <option value="all">All triggers</option>
          <option value="schedule">Schedules</option>
          <option value="event">Event triggers</option>
        </select>
      </div>
      <Loaded query={triggers}>
        {({ items }) =>
          shown.length ? (
            <Table label="Triggers" columns={columns} rows={shown} keyOf={(one) => one.id} rowHeight={44} onOpen={(one) => void navigate({ to: "/triggers/$triggerId", params: { triggerId: one.id } })} />
          ) : (
            <Empty title={items.length ? "No matching triggers" : "No triggers yet"} icon="triggers">
              {!items.length && <p className="quiet">A trigger creates jobs on a schedule, or when an event is received.</p>}
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<Trigger>[] = [
  {
    key: "label", title: "Label", width: "minmax(170px, 3fr)",
    cell: (one) => (
      <>
        <Icon name={one.trigger_type === "event" ? "events" : "clock"} size={14} />
        <Link to="/triggers/$triggerId" params={{ triggerId: one.id }} title={one.label}>
          {one.label}
        </Link>
      </>
    ),
  },
  { key: "when", title: "Fires", width: "minmax(200px, 2fr)", cell: (one) => <When trigger={one} /> },
  { key: "definition", title: "Creates", width: "minmax(120px, 1fr)", cell: (one) => <span title={one.definition_key}>{one.definition_key}</span> },
  { key: "state", title: "State", width: "104px", cell: (one) => <State trigger={one} /> },
  { key: "next", title: "Next", width: "96px", cell: (one) => (one.is_enabled ? <Time at={one.next_at} /> : "–") },
  { key: "last", title: "Last", width: "96px", cell: (one) => <Time at={one.last_at} /> },
  { key: "fired", title: "Firings", width: "76px", align: "right", cell: (one) => <span>{one.fired.toLocaleString()}</span> },
  {
    key: "missed", title: "Missed", width: "76px", align: "right",
    cell: (one) => <span title={`${one.missed} missed, ${one.skipped} skipped, ${one.held} held`}>{(one.missed + one.skipped).toLocaleString()}</span>,
  },
];
