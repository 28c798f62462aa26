/** One error of a definition: its history, newest failure, affected tenants and workers. All its jobs can be retried or canceled. */

import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead, useTenant } from "../api/hooks";
import { oneOf, searchOf } from "../api/search";
import { useSession } from "../api/session";
import type { FailureGroup, FailureTenant, FailureWorker } from "../api/types";
import { Button } from "../parts/Button";
import { Chart } from "../parts/Chart";
import { useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Facts, Page, Panel } from "../parts/Page";
import { Empty, Loaded } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Time } from "../parts/Time";
import { toast } from "../shell/toasts";
import { AsOf, firstLine } from "./failure-words";
import { Part } from "./job-attempts";
import { jobsWith } from "./job-filter";
import { BulkDialog } from "./jobs-bulk";
import { RedriveDialog } from "./redrive";
import "./triggers.css";
import "./overview.css";

const params = searchOf({ span: oneOf("24h", "7d", "30d") });

const SPANS = {
  "24h": { label: "24 h", hours: 24, step: 1 },
  "7d": { label: "7 d", hours: 168, step: 6 },
  "30d": { label: "30 d", hours: 720, step: 24 },
} as const;

export default function ErrorGroup() {
  const { definitionKey, fingerprint } = useParams({ strict: false }) as { definitionKey: string; fingerprint: string };
  const [{ span }, setSearch] = params.use();
  const range = useRange(span);
  const group = useRead(
    "GET /jobs/failures/{definition_key}/{fingerprint}",
    { path: { definition_key: definitionKey, fingerprint }, query: { start: range.start, step_hours: SPANS[span].step } },
    { live: ["job"], every: 2000, poll: 15_000 },
  );
  return (
    <Loaded query={group} what="error">
      {(found) => <Shown group={found} range={range} span={span} onSpan={(next) => setSearch({ span: next }, { replace: true })} />}
    </Loaded>
  );
}

type Span = keyof typeof SPANS;

interface Range {
  start: string;
  from: number;
  to: number;
  step: number;
}

/** The buckets of the time range, aligned to the epoch as in the database. */
function useRange(span: Span): Range {
  const { hours, step } = SPANS[span];
  const bucket = step * 3_600_000;
  const now = Math.floor(Date.now() / bucket);
  return useMemo(() => {
    const to = (now + 1) * bucket;
    const from = to - hours * 3_600_000;
    return { from, to, step: bucket, start: new Date(from).toISOString() };
  }, [now, bucket, hours]);
}

function Shown({ group, range, span, onSpan }: { group: FailureGroup; range: Range; span: Span; onSpan: (span: Span) => void }) {
  const session = useSession();
  const tenant = useTenant();
  const dialog = useDialog<"retry" | "cancel">();
  const acts = session.can("POST /jobs/bulk");
  const error = group.sample?.error_text ?? null;
  const jobs = jobsWith({ definition: group.definition_key, error: group.fingerprint, status: ["failed", "dead_letter"] }) as never;
  const history = group.history.reduce((sum, one) => sum + one.failed + one.dead_letter, 0);
  return (
    <Page
      above={
        <>
          <Link to="/dead-letters">Errors</Link>
          <Icon name="right" size={12} />
          <Link to="/jobs" search={jobsWith({ definition: group.definition_key }) as never}>
            {group.definition_key}
          </Link>
          <Icon name="right" size={12} />
          <code>{group.fingerprint}</code>
        </>
      }
      title={firstLine(error)}
      actions={
        <>
          <Link className="button normal" to="/jobs" search={jobs}>
            <Icon name="jobs" />
            Show jobs
          </Link>
          {acts && (
            <>
              <Button icon="retry" disabled={!group.jobs} onClick={() => dialog.open("retry")}>
                Retry all…
              </Button>
              <Button icon="cancel" title="Cancel unfinished jobs whose last attempt failed with this error" onClick={() => dialog.open("cancel")}>
                Cancel unfinished…
              </Button>
            </>
          )}
        </>
      }
    >
      <div className="two">
        <Panel title="Counts" actions={<AsOf at={group.as_of} />}>
          <div className="body">
            <Facts
              facts={[
                ["Failed jobs", <Number name="jobs" value={group.jobs} about="jobs that are currently failed or dead letters; retried and deleted jobs are not counted" />],
                ["Dead letters", <Number name="dead-letters" value={group.dead_letters} about="failed jobs that are dead letters" />],
                ["All failures", <Number name="failures" value={group.failures} about="failures of all jobs that have not been deleted, including jobs that were retried later" />],
                ["First seen", <Time at={group.first_at} />],
                ["Last seen", <Time at={group.last_at} />],
                [
                  "Newest job",
                  <Link to="/jobs/$jobId" params={{ jobId: group.last_job_id }}>
                    {group.last_job_id}
                  </Link>,
                ],
              ]}
            />
          </div>
        </Panel>
        <Panel
          title="Failures over time"
          actions={
            <div className="switch" role="group" aria-label="Time range">
              {(Object.keys(SPANS) as Span[]).map((key) => (
                <button key={key} type="button" aria-pressed={key === span} onClick={() => onSpan(key)}>
                  {SPANS[key].label}
                </button>
              ))}
            </div>
          }
        >
          <Chart
            label={`Failures in ${SPANS[span].label}: ${history.toLocaleString()} in total`}
            kind="bars"
            from={range.from}
            to={range.to}
            step={range.step}
            series={[
              { label: "failed", color: "var(--s-failed)", values: new Map(group.history.map((one) => [Date.parse(one.at), one.failed])) },
              { label: "dead letter", color: "var(--s-dead_letter)", values: new Map(group.history.map((one) => [Date.parse(one.at), one.dead_letter])) },
            ]}
            format={(value) => value.toLocaleString()}
          />
        </Panel>
      </div>
      <Panel title="Newest failure">
        {group.sample ? (
          <div className="body">
            {error && <Part title="Error" text={error} label="Error of the newest failure" />}
            {group.sample.traceback && <Part title="Traceback" text={group.sample.traceback} label="Traceback of the newest failure" />}
            {!error && !group.sample.traceback && <p className="quiet">No error message.</p>}
          </div>
        ) : (
          <Empty title="The newest job has been deleted" />
        )}
      </Panel>
      <div className="two">
        {tenant === null && session.can("GET /tenants") && (
          <Panel title="Affected tenants">
            <Table label="Affected tenants" columns={TENANTS} rows={group.tenants} keyOf={(one) => one.tenant_id} maxHeight={320} />
          </Panel>
        )}
        <Panel title={`Workers of the newest ${group.workers_of.toLocaleString()} failures`}>
          <Table label="Workers" columns={WORKERS} rows={group.workers} keyOf={(one) => String(one.worker)} maxHeight={320} />
        </Panel>
      </div>
      {dialog.about === "retry" && (
        <RedriveDialog
          title="Retry failed jobs?"
          group={{
            what: `${group.definition_key}: ${firstLine(error)}`,
            filter: { status: ["failed", "dead_letter"], definition_key: group.definition_key, error: group.fingerprint },
            jobs: group.jobs,
          }}
          onBegun={(job) => toast.good("Retry started.", { to: `/jobs/${job}`, label: "Show progress" })}
          onClose={dialog.close}
        />
      )}
      {dialog.about === "cancel" && (
        <BulkDialog action="cancel" query={{ definition_key: group.definition_key, error: group.fingerprint }} onClose={dialog.close} onDone={() => {}} />
      )}
    </Page>
  );
}

function Number({ name, value, about }: { name: string; value: number; about: string }) {
  return (
    <>
      <strong data-count={name}>{value.toLocaleString()}</strong> <span className="quiet">{about}</span>
    </>
  );
}

const TENANTS: Column<FailureTenant>[] = [
  { key: "tenant", title: "Tenant", width: "minmax(120px, 1fr)", cell: (one) => one.tenant },
  { key: "jobs", title: "Failed jobs", width: "110px", align: "right", cell: (one) => one.jobs.toLocaleString() },
  { key: "failures", title: "All failures", width: "110px", align: "right", cell: (one) => one.failures.toLocaleString() },
  { key: "last", title: "Last seen", width: "130px", cell: (one) => <Time at={one.last_at} /> },
];

const WORKERS: Column<FailureWorker>[] = [
  {
    key: "worker", title: "Worker", width: "76px",
    cell: (one) => (one.worker === null ? <span className="quiet">none</span> : <Link to="/jobs" search={jobsWith({ worker: String(one.worker) }) as never}>{one.worker}</Link>),
  },
  { key: "host", title: "Host", width: "minmax(90px, 1fr)", cell: (one) => one.host ?? <span className="quiet">–</span> },
  { key: "failures", title: "Failures", width: "84px", align: "right", cell: (one) => one.failures.toLocaleString() },
  { key: "last", title: "Last seen", width: "112px", cell: (one) => <Time at={one.last_at} /> },
];
