/** The dead-letter queue: jobs that exhausted their attempts, grouped by error. A redrive retries them at a limited rate. */

import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { now } from "../api/clock";
import { useRead, useTenant } from "../api/hooks";
import { oneOf, searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Failure } from "../api/types";
import { Button } from "../parts/Button";
import { useDialog } from "../parts/Dialog";
import { Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Time } from "../parts/Time";
import { useKeys } from "../shell/keys";
import { useCommands } from "../shell/Palette";
import { AsOf, firstLine } from "./failure-words";
import { jobsWith } from "./job-filter";
import { RedriveDialog, type Group } from "./redrive";
import { Redrives } from "./redrives";
import "./queues.css";
import "./dead-letters.css";

/** The maximum number of errors listed. The others are only counted. */
const LIMIT = 200;

/** `span`: errors that were last seen within this time. `redrive`: the bulk job that was started here, so that its progress stays visible until it has ended. */
const params = searchOf({ span: oneOf("all", "24h", "7d", "30d"), redrive: text });

const SPANS = { "24h": { label: "24 h", days: 1 }, "7d": { label: "7 d", days: 7 }, "30d": { label: "30 d", days: 30 }, all: { label: "All", days: null } } as const;

export default function DeadLetters() {
  const [{ span, redrive }, setSearch] = params.use();
  const session = useSession();
  const tenant = useTenant();
  const start = useStart(SPANS[span].days);
  const failures = useRead("GET /jobs/failures", { query: { status: ["dead_letter"], start, limit: LIMIT } }, { live: ["job"], every: 1500, poll: 15_000 });
  const dialog = useDialog<Group>();
  const acts = session.can("POST /jobs/bulk");
  const groups = failures.data?.items ?? [];
  const all: Group = { what: "all dead letters", filter: { status: ["dead_letter"] }, jobs: failures.data?.total_jobs ?? 0 };
  useKeys("Dead letters", acts && groups.length ? { R: ["Redrive all", () => dialog.open(all)] } : {});
  useCommands(
    acts
      ? [
          ...(groups.length ? [{ label: "Redrive all dead letters", icon: "retry" as const, act: () => dialog.open(all) }] : []),
          ...groups.slice(0, 20).map((one) => ({ label: `Redrive ${one.definition_key}: ${firstLine(one.error)}`, icon: "retry" as const, act: () => dialog.open(groupOf(one)) })),
        ]
      : [],
  );
  return (
    <Page
      title="Dead letters"
      actions={
        <>
          {acts && groups.length > 0 && (
            <Button icon="retry" onClick={() => dialog.open(all)}>
              Redrive all…
            </Button>
          )}
          <div className="switch" role="group" aria-label="Last seen">
            {(["24h", "7d", "30d", "all"] as const).map((key) => (
              <button key={key} type="button" aria-pressed={key === span} onClick={() => setSearch({ span: key }, { replace: true })}>
                {SPANS[key].label}
              </button>
            ))}
          </div>
        </>
      }
    >
      <Redrives key={tenant ?? ""} begun={redrive} onForget={() => setSearch({ redrive: "" }, { replace: true })} />
      <Loaded query={failures}>
        {(found) =>
          found.items.length ? (
            <Panel
              title={`${found.total_jobs.toLocaleString()} ${found.total_jobs === 1 ? "job" : "jobs"} by error`}
              actions={<AsOf at={found.as_of} />}
              className="error-groups"
            >
              <ul>
                {found.items.map((one) => (
                  <ErrorGroup key={`${one.definition_key} ${one.fingerprint}`} failure={one} onRedrive={acts ? () => dialog.open(groupOf(one)) : null} />
                ))}
              </ul>
              {found.items.length < found.total_errors && (
                <p className="quiet foot">
                  {`${found.items.length.toLocaleString()} of ${found.total_errors.toLocaleString()} errors shown. The errors with the most jobs are listed first.`}
                </p>
              )}
            </Panel>
          ) : (
            <Empty title="No dead letters" icon="check">
              <p className="quiet">Jobs that exhaust their attempts are listed here until they are retried or deleted by retention.</p>
            </Empty>
          )
        }
      </Loaded>
      {dialog.about && <RedriveDialog group={dialog.about} onBegun={(job) => setSearch({ redrive: job }, { replace: true })} onClose={dialog.close} />}
    </Page>
  );
}

/** Rounded to the minute: with a time that changes every second, each render would send a new query. */
function useStart(days: number | null): string | undefined {
  const minute = Math.floor(now() / 60_000);
  return useMemo(() => (days === null ? undefined : new Date(minute * 60_000 - days * 86_400_000).toISOString()), [minute, days]);
}

const groupOf = (failure: Failure): Group => ({
  what: `${failure.definition_key}: ${firstLine(failure.error)}`,
  filter: { status: ["dead_letter"], definition_key: failure.definition_key, error: failure.fingerprint },
  jobs: failure.jobs,
});

function ErrorGroup({ failure, onRedrive }: { failure: Failure; onRedrive: (() => void) | null }) {
  const wanted = jobsWith({ status: ["dead_letter"], definition: failure.definition_key, error: failure.fingerprint });
  return (
    <li className="error-group" data-fingerprint={failure.fingerprint}>
      <Link className="count" to="/jobs" search={wanted as never} title="Show the jobs with this error that are currently dead letters">
        {failure.jobs.toLocaleString()}
      </Link>
      <div className="what">
        <Link to="/errors/$definitionKey/$fingerprint" params={{ definitionKey: failure.definition_key, fingerprint: failure.fingerprint }} title="Show this error">
          <strong>{failure.definition_key}</strong>
        </Link>
        <code className="cut" title={failure.error ?? ""}>
          {firstLine(failure.error)}
        </code>
        <small>
          {failure.jobs > 1 && (
            <>
              first <Time at={failure.first_at} />,{" "}
            </>
          )}
          last <Time at={failure.last_at} />
          {" · "}
          <Link to="/jobs/$jobId" params={{ jobId: failure.last_job_id }}>
            newest job
          </Link>
          {" · "}
          <Link to="/jobs" search={wanted as never}>
            all jobs
          </Link>
        </small>
      </div>
      {onRedrive && (
        <Button icon="retry" onClick={onRedrive}>
          Redrive…
        </Button>
      )}
    </li>
  );
}
