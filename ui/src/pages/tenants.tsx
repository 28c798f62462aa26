/** Tenants: their load, failure rate and share of the workers, and their settings. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { now } from "../api/clock";
import { useChange, useRead } from "../api/hooks";
import { oneOf, searchOf, text } from "../api/search";
import type { TenantLoad, Tenant } from "../api/types";
import { Tag } from "../parts/Badge";
import { Bar } from "../parts/Bar";
import { Button } from "../parts/Button";
import { Confirm, useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { Paused } from "../parts/Paused";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Duration } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { useCommands } from "../shell/Palette";
import { NewTenant, TenantSettings } from "./tenant-settings";
import "./queues.css";
import "./tenants.css";

const params = searchOf({ span: oneOf("1h", "24h", "7d"), q: text });

const HOURS = { "1h": 1, "24h": 24, "7d": 168 } as const;
const LABELS = { "1h": "1 h", "24h": "24 h", "7d": "7 d" } as const;

/** A row of the table. */
interface Row extends Tenant {
  load: TenantLoad | undefined;
}
type Asked = { what: "new" } | { what: "settings" | "pause"; tenant: Tenant };

export default function Tenants() {
  const [{ span, q }, setSearch] = params.use();
  const filter = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const start = useStart(HOURS[span]);
  const tenants = useRead("GET /tenants", undefined, { poll: 5000 });
  const load = useRead("GET /tenants/load", { query: { start } }, { live: ["job"], every: 1500, poll: 5000 });
  const dialog = useDialog<Asked>();
  const resume = useChange("PATCH /tenants/{slug}", { success: "Tenant resumed." });
  const rows = useMemo(() => rowsOf(tenants.data?.items ?? [], load.data?.items ?? [], q.trim().toLowerCase()), [tenants.data, load.data, q]);
  const columns = useMemo(
    () =>
      columnsFor(LABELS[span], {
        edit: (tenant) => dialog.open({ what: "settings", tenant }),
        pause: (tenant) => (tenant.paused ? resume.mutate({ path: { slug: tenant.slug }, body: { paused: false } }) : dialog.open({ what: "pause", tenant })),
      }),
    [span], // eslint-disable-line
  );
  useKeys("Tenants", { "/": ["Search tenants", () => filter.current?.focus()], n: ["Create tenant", () => dialog.open({ what: "new" })] });
  useCommands([
    { label: "Create tenant", icon: "plus", act: () => dialog.open({ what: "new" }) },
    ...rows.slice(0, 100).map((tenant) => ({ label: `Settings of tenant ${tenant.slug}`, icon: "edit" as const, act: () => dialog.open({ what: "settings" as const, tenant }) })),
  ]);
  return (
    <Page
      fill
      title="Tenants"
      actions={
        <>
          <label className="finding">
            <span className="hidden">Search tenants</span>
            <Icon name="search" />
            <input ref={filter} type="search" placeholder="Search tenants" maxLength={100} value={q} onChange={(event) => setSearch({ q: event.target.value }, { replace: true })} />
          </label>
          <div className="switch" role="group" aria-label="Time range">
            {(Object.keys(HOURS) as (keyof typeof HOURS)[]).map((key) => (
              <button key={key} type="button" aria-pressed={key === span} onClick={() => setSearch({ span: key }, { replace: true })}>
                {LABELS[key]}
              </button>
            ))}
          </div>
          <Button kind="primary" icon="plus" onClick={() => dialog.open({ what: "new" })}>
            Create tenant
          </Button>
        </>
      }
    >
      <Loaded query={tenants}>
        {() => (
          <>
            <Noisy rows={rows} />
            <Paused items={rows.filter(({ paused }) => paused).map((tenant) => ({ ...tenant, name: tenant.slug }))} />
            {rows.length ? (
              <Table label="Tenants" columns={columns} rows={rows} keyOf={(tenant) => tenant.slug} rowHeight={48} onOpen={(tenant) => void navigate({ to: "/", search: { tenant: tenant.slug } as never })} />
            ) : (
              <Empty title="No matching tenants" icon="tenants" />
            )}
          </>
        )}
      </Loaded>
      {dialog.about?.what === "new" && <NewTenant onClose={dialog.close} />}
      {dialog.about?.what === "settings" && <TenantSettings tenant={dialog.about.tenant} onClose={dialog.close} />}
      {dialog.about?.what === "pause" && <PauseDialog tenant={dialog.about.tenant} onClose={dialog.close} />}
    </Page>
  );
}

function useStart(hours: number): string {
  const minute = Math.floor(now() / 60_000);
  return useMemo(() => new Date((minute - hours * 60) * 60_000).toISOString(), [minute, hours]);
}

/** Noisy tenants first, then tenants with the most running and queued jobs. */
function rowsOf(tenants: readonly Tenant[], load: readonly TenantLoad[], wanted: string): Row[] {
  const by = new Map(load.map((one) => [one.tenant_id, one]));
  const weight = ({ load: one }: Row) => (one?.noisy.length ?? 0) * 1e12 + (one?.running ?? 0) * 1e6 + (one?.queued ?? 0);
  return tenants
    .filter(({ slug, name }) => slug.includes(wanted) || name.toLowerCase().includes(wanted))
    .map((tenant) => ({ ...tenant, load: by.get(tenant.id) }))
    .sort((a, b) => weight(b) - weight(a) || a.slug.localeCompare(b.slug));
}

const NOISE = {
  slots: { word: "slots", about: "runs more than twice its fair share while other tenants wait" },
  backlog: { word: "backlog", about: "has more than half of the jobs in a long queue that it shares with other tenants" },
  failures: { word: "failures", about: "has a high failure rate: most of its attempts fail and are retried" },
} as const;

function Noisy({ rows }: { rows: readonly Row[] }) {
  const noisy = rows.filter(({ load }) => load?.noisy.length);
  if (!noisy.length) return null;
  return (
    <div className="notice warn" role="status">
      <Icon name="alert" />
      <ul>
        {noisy.slice(0, 5).map(({ slug, load }) => (
          <li key={slug}>
            <strong>{slug}</strong>
            {` ${load!.noisy.map((why) => NOISE[why].about).join("; ")}.`}
          </li>
        ))}
        {noisy.length > 5 && <li>{`${noisy.length - 5} more tenants.`}</li>}
      </ul>
    </div>
  );
}

const percent = (part: number) => `${(100 * part).toLocaleString(undefined, { maximumFractionDigits: part < 0.1 && part > 0 ? 1 : 0 })} %`;
const none = <span className="quiet">–</span>;

function columnsFor(span: string, on: { edit: (tenant: Tenant) => void; pause: (tenant: Tenant) => void }): Column<Row>[] {
  return [
    {
      key: "tenant",
      title: "Tenant",
      width: "minmax(180px, 1.5fr)",
      cell: (tenant) => (
        <>
          <Link to="/" search={{ tenant: tenant.slug } as never} title={tenant.name}>
            {tenant.slug}
          </Link>
          {tenant.paused && <Tag tone="warn">paused</Tag>}
          {tenant.load?.noisy.map((why) => (
            <Tag key={why} tone="bad" title={NOISE[why].about}>
              {NOISE[why].word}
            </Tag>
          ))}
        </>
      ),
    },
    {
      key: "queued",
      title: "Queued",
      width: "90px",
      align: "right",
      cell: ({ load, max_queued, queued }) => (
        <span className={max_queued !== null && queued >= max_queued ? "warn" : ""} title={max_queued === null ? undefined : `${queued.toLocaleString()} of ${max_queued.toLocaleString()} unfinished jobs`} data-count="queued">
          {(load?.queued ?? 0).toLocaleString()}
        </span>
      ),
    },
    { key: "oldest", title: "Oldest job", width: "96px", align: "right", cell: ({ load }) => <Duration seconds={load?.oldest_queued_age_seconds} /> },
    {
      key: "running",
      title: "Running",
      width: "96px",
      align: "right",
      cell: ({ load, max_running }) => (
        <span data-count="running">
          {(load?.running ?? 0).toLocaleString()}
          {max_running !== null && <span className="quiet">{` / ${max_running.toLocaleString()}`}</span>}
        </span>
      ),
    },
    { key: "share", title: "Share of slots", width: "minmax(150px, 1fr)", cell: ({ load }) => <Share load={load} /> },
    {
      key: "failures",
      title: `Failed, ${span}`,
      width: "110px",
      align: "right",
      cell: ({ load }) =>
        load?.failure_rate === null || !load ? none : (
          <span className={load.failure_rate > 0.5 ? "bad" : load.failure_rate > 0.1 ? "warn" : ""} title={`of ${load.ended.toLocaleString()} attempts`} data-count="failing">
            {percent(load.failure_rate)}
          </span>
        ),
    },
    { key: "run", title: `Run time, ${span}`, width: "112px", align: "right", cell: ({ load }) => (load?.run_seconds ? <Duration seconds={load.run_seconds} /> : none) },
    { key: "weight", title: "Weight", width: "76px", align: "right", cell: ({ weight }) => <span data-count="weight">{weight}</span> },
    {
      key: "actions",
      title: <span className="hidden">Actions</span>,
      width: "84px",
      align: "right",
      cell: (tenant) => (
        <>
          <Button kind="plain" icon="edit" aria-label={`Settings of ${tenant.slug}`} title="Settings" onClick={() => on.edit(tenant)} />
          <Button kind="plain" icon={tenant.paused ? "play" : "pause"} aria-label={`${tenant.paused ? "Resume" : "Pause"} ${tenant.slug}`} title={tenant.paused ? "Resume" : "Pause"} onClick={() => on.pause(tenant)} />
        </>
      ),
    },
  ];
}

/** The tenant's share of all running jobs. The line marks its fair share by weight. */
function Share({ load }: { load: TenantLoad | undefined }) {
  if (!load || (!load.running && !load.queued)) return none;
  const share = load.share ?? 0;
  return (
    <>
      <Bar label="Share of slots" total={100} shares={[{ status: load.noisy.includes("slots") ? "failed" : "running", count: Math.round(share * 1000) / 10, label: "% of running jobs" }]} needed={load.fair_share === null ? null : Math.round(load.fair_share * 1000) / 10} />
      <span className="share-words" title={load.fair_share === null ? undefined : `Fair share: ${percent(load.fair_share)}`}>
        {percent(share)}
      </span>
    </>
  );
}

function PauseDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const pause = useChange("PATCH /tenants/{slug}", { success: `Tenant ${tenant.slug} paused.`, then: onClose });
  return (
    <Confirm title={`Pause ${tenant.slug}?`} action="Pause tenant" danger busy={pause.isPending} onConfirm={() => pause.mutate({ path: { slug: tenant.slug }, body: { paused: true, pause_reason: reason.trim() || null } })} onClose={onClose}>
      <p>Until the tenant is resumed, none of its jobs will start, in any queue. Running jobs will finish, and new jobs can still be enqueued.</p>
      <label className="field">
        Reason (shown with the tenant's jobs)
        <input maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}
