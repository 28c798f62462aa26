/** All job definitions with their limits, for super-admins. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead } from "../api/hooks";
import { searchOf, text } from "../api/search";
import type { Definition } from "../api/types";
import { Tag } from "../parts/Badge";
import { Page } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { duration, Time } from "../parts/Time";
import "./triggers.css";

const params = searchOf({ q: text });

export default function Definitions() {
  const navigate = useNavigate();
  const [{ q }, setSearch] = params.use();
  const definitions = useRead("GET /admin/jobs/definitions", undefined, { poll: 15_000 });
  const shown = useMemo(() => (definitions.data?.items ?? []).filter((one) => `${one.key} ${one.queue} ${one.description}`.toLowerCase().includes(q.toLowerCase())), [definitions.data, q]);
  return (
    <Page fill title="Definitions">
      <div className="tools">
        <input className="narrow" type="search" aria-label="Search definitions" placeholder="Key, queue or description" value={q} onChange={(event) => setSearch({ q: event.target.value }, { replace: true })} />
      </div>
      <Loaded query={definitions}>
        {({ items }) =>
          shown.length ? (
            <Table label="Definitions" columns={COLUMNS} rows={shown} keyOf={(one) => one.key} onOpen={(one) => void navigate({ to: "/definitions/$definitionKey", params: { definitionKey: one.key } })} />
          ) : (
            <Empty title={items.length ? "No matching definitions" : "No definitions yet"} icon="definitions">
              {!items.length && <p className="quiet">A worker registers its definitions when it starts.</p>}
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<Definition>[] = [
  {
    key: "key", title: "Key", width: "minmax(168px, 2fr)",
    cell: (one) => (
      <Link to="/definitions/$definitionKey" params={{ definitionKey: one.key }} title={one.description || one.key}>
        {one.key}
      </Link>
    ),
  },
  { key: "kind", title: "Type", width: "84px", cell: (one) => <span className="quiet">{one.kind}</span> },
  { key: "active", title: "State", width: "84px", cell: (one) => (one.is_active ? <Tag tone="good">active</Tag> : <Tag tone="warn">inactive</Tag>) },
  { key: "queue", title: "Queue", width: "minmax(90px, 1fr)", cell: (one) => <span>{one.queue}</span> },
  { key: "attempts", title: "Attempts", width: "80px", align: "right", cell: (one) => <span>{one.max_attempts}</span> },
  { key: "timeout", title: "Timeout", width: "84px", align: "right", cell: (one) => <span>{duration(one.timeout_seconds, true)}</span> },
  { key: "running", title: "Max running", width: "104px", align: "right", cell: (one) => <span>{one.max_running ?? "–"}</span> },
  { key: "rate", title: "Rate limit", width: "96px", align: "right", cell: (one) => <span>{rateOf(one.rate_count, one.rate_period_seconds)}</span> },
  { key: "key limit", title: "Per limit key", width: "112px", align: "right", cell: (one) => <span>{[one.key_max_running, one.key_rate_count && rateOf(one.key_rate_count, one.key_rate_period_seconds)].filter((part) => part !== null).join(", ") || "–"}</span> },
  { key: "changed", title: "Changed", width: "104px", cell: (one) => <Time at={one.updated_at} /> },
];

export const rateOf = (count: number | null, seconds: number | null) => (count === null || seconds === null ? "–" : `${count} / ${duration(seconds, true)}`);
