/** The overview: jobs by status, throughput, latency and the most frequent errors. Each number links to the jobs it counts. */

import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { now as time } from "../api/clock";
import { useRead } from "../api/hooks";
import { oneOf, searchOf } from "../api/search";
import type { FailurePage, Latency, Status, Stretch, Summary } from "../api/types";
import { Badge } from "../parts/Badge";
import { Chart, type Series } from "../parts/Chart";
import { Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { duration, Duration, Time } from "../parts/Time";
import { AsOf, firstLine } from "./failure-words";
import { jobsWith } from "./job-filter";
import "./overview.css";

const params = searchOf({ span: oneOf("1h", "24h", "7d") });

const SPANS = {
  "1h": { label: "1 h", ms: 3_600_000, step: 60 },
  "24h": { label: "24 h", ms: 86_400_000, step: 1800 },
  "7d": { label: "7 d", ms: 604_800_000, step: 10_800 },
} as const;

/** The limit for counting workflows and fan-outs. A count that reaches it is shown as "2,000+". */
const CAP = 2000;

export default function Overview() {
  const [{ span }, setSearch] = params.use();
  const summary = useRead("GET /jobs/summary", undefined, { live: ["job"], every: 1000, poll: 10_000 });
  const range = useRange(span);
  const { start, step_seconds } = range;
  const history = useRead("GET /jobs/history", { query: { start, step_seconds } }, { poll: 15_000 });
  const latency = useRead("GET /jobs/latency", { query: { start, step_seconds } }, { poll: 30_000 });
  const failures = useRead("GET /jobs/failures", { query: { start, order: "recent", limit: 8 } }, { live: ["job"], every: 5000, poll: 30_000 });

  return (
    <Page
      title="Overview"
      actions={
        <div className="switch" role="group" aria-label="Time range">
          {(Object.keys(SPANS) as (keyof typeof SPANS)[]).map((key) => (
            <button key={key} type="button" aria-pressed={key === span} onClick={() => setSearch({ span: key }, { replace: true })}>
              {SPANS[key].label}
            </button>
          ))}
        </div>
      }
    >
      <Loaded query={summary}>{(found) => <Cards summary={found} history={history.data?.items} span={SPANS[span].label} />}</Loaded>
      <div className="columns">
        <Panel title="Throughput">
          <Throughput items={history.data?.items ?? []} range={range} />
        </Panel>
        <Panel title="Latency">
          <Latencies items={latency.data?.items ?? []} range={range} />
        </Panel>
      </div>
      <Panel title={`Most frequent errors, ${SPANS[span].label}`} actions={failures.data && <AsOf at={failures.data.as_of} />}>
        <Loaded query={failures}>{(found) => <Failures found={found} />}</Loaded>
      </Panel>
    </Page>
  );
}

interface Range {
  start: string;
  step_seconds: number;
  from: number;
  to: number;
}

/** The buckets of the time range, aligned to the epoch as in the database. */
function useRange(span: keyof typeof SPANS): Range {
  const { ms, step } = SPANS[span];
  const now = Math.floor(time() / (step * 1000));
  return useMemo(() => {
    const to = (now + 1) * step * 1000;
    const from = to - ms;
    return { from, to, step_seconds: step, start: new Date(from).toISOString() };
  }, [now, ms, step]);
}

function Cards({ summary, history, span }: { summary: Summary; history: Stretch[] | undefined; span: string }) {
  const live: Status[] = ["queued", "scheduled", "running", "waiting"];
  const succeeded = history?.reduce((sum, one) => sum + one.succeeded, 0);
  return (
    <div className="cards">
      {live.map((status) => (
        <Card key={status} status={status} count={summary.counts[status] ?? 0}>
          {status === "queued" && summary.oldest_queued_age_seconds !== null && (
            <>
              oldest <Duration seconds={summary.oldest_queued_age_seconds} />
            </>
          )}
          {status === "waiting" && summary.active_fan_outs > 0 && `${many(summary.active_workflows)} ${summary.active_workflows === 1 ? "workflow" : "workflows"}, ${many(summary.active_fan_outs)} ${summary.active_fan_outs === 1 ? "fan-out" : "fan-outs"}`}
        </Card>
      ))}
      <Card status="succeeded" count={succeeded}>
        {span}
      </Card>
      <Card status="failed" count={summary.counts.failed ?? 0} />
      <Card status="dead_letter" count={summary.counts.dead_letter ?? 0} to="/dead-letters" />
    </div>
  );
}

function Card({ status, count, to, children }: { status: Status; count: number | undefined; to?: string; children?: React.ReactNode }) {
  return (
    <Link className="card" to={to ?? "/jobs"} search={(to ? {} : jobsWith({ status: [status] })) as never} data-card={status}>
      <Badge status={status} />
      <span className="number">{count === undefined ? "–" : count.toLocaleString()}</span>
      <small>{children}</small>
    </Link>
  );
}

const many = (count: number) => (count >= CAP ? `${CAP.toLocaleString()}+` : count.toLocaleString());

function seriesOf<T extends { at: string }>(items: readonly T[], shown: [label: string, color: string, of: (one: T) => number | null][]): Series[] {
  return shown.map(([label, color, of]) => ({ label, color, values: new Map(items.map((one) => [Date.parse(one.at), of(one)])) }));
}

function Throughput({ items, range }: { items: Stretch[]; range: Range }) {
  const series = seriesOf(items, [
    ["succeeded", "var(--s-succeeded)", (one) => one.succeeded],
    ["failed", "var(--s-failed)", (one) => one.failed],
    ["dead letter", "var(--s-dead_letter)", (one) => one.dead_letter],
    ["retried", "var(--s-waiting)", (one) => one.retried],
    ["canceled", "var(--s-canceled)", (one) => one.canceled + one.skipped],
  ]);
  const all = items.reduce((sum, one) => sum + one.succeeded + one.failed + one.dead_letter, 0);
  return (
    <Chart
      label={`Finished jobs per ${duration(range.step_seconds, true)}: ${all.toLocaleString()} in total`}
      kind="bars"
      from={range.from}
      to={range.to}
      step={range.step_seconds * 1000}
      series={series}
      format={(value) => (value >= 10_000 ? `${Math.round(value / 1000)}k` : String(Math.round(value * 10) / 10))}
    />
  );
}

function Latencies({ items, range }: { items: Latency[]; range: Range }) {
  const series = seriesOf(items, [
    ["wait, p50", "var(--s-queued)", (one) => one.wait_p50],
    ["wait, p95", "var(--s-scheduled)", (one) => one.wait_p95],
    ["run, p50", "var(--s-running)", (one) => one.run_p50],
    ["run, p95", "var(--s-waiting)", (one) => one.run_p95],
  ]);
  return (
    <Chart
      label="Wait times and run times of jobs"
      kind="lines"
      from={range.from}
      to={range.to}
      step={range.step_seconds * 1000}
      series={series}
      format={(value) => duration(value, true)}
    />
  );
}

const clock = (at: string) => new Date(at).toLocaleString(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

function Failures({ found }: { found: FailurePage }) {
  if (!found.items.length)
    return (
      <Empty title="No errors" icon="check">
        <p className="quiet">No job failed in this time range, or all jobs that failed have since been retried.</p>
      </Empty>
    );
  return (
    <div>
      {found.items.map((one) => (
        <div key={`${one.definition_key} ${one.fingerprint}`} className="failure" data-fingerprint={one.fingerprint}>
          <Link
            className="count"
            to="/jobs"
            search={jobsWith({ definition: one.definition_key, error: one.fingerprint, status: ["failed", "dead_letter"] }) as never}
            title="Show the jobs with this error that are currently failed or dead letters"
          >
            {one.jobs.toLocaleString()}
          </Link>
          <Link to="/errors/$definitionKey/$fingerprint" params={{ definitionKey: one.definition_key, fingerprint: one.fingerprint }} title="Show this error">
            <strong>{one.definition_key}</strong>
          </Link>
          <span className="quiet">
            {`${one.recent.toLocaleString()} ${one.recent === 1 ? "failure" : "failures"} since ${clock(found.since)}, last `}
            <Time at={one.last_at} />
            {", "}
            <Link to="/jobs/$jobId" params={{ jobId: one.last_job_id }}>
              newest job
            </Link>
          </span>
          <code className="cut" title={one.error ?? ""}>
            {firstLine(one.error)}
          </code>
        </div>
      ))}
      {found.items.length < found.total_errors && (
        <p className="quiet foot">{`${found.items.length.toLocaleString()} of ${found.total_errors.toLocaleString()} errors shown. All errors together affect ${found.total_jobs.toLocaleString()} jobs.`}</p>
      )}
    </div>
  );
}
