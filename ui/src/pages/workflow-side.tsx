/** The details panel of a workflow: the selected job or fan-out, or a summary with the failed jobs. */

import { Link } from "@tanstack/react-router";
import { useChange, useRead } from "../api/hooks";
import { useSession } from "../api/session";
import type { FanOut, JobPage } from "../api/types";
import { Badge, isFinal } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Id } from "../parts/Code";
import { Json } from "../parts/Json";
import { Facts } from "../parts/Page";
import { Loaded, NotFound } from "../parts/States";
import { Duration, Since, Time } from "../parts/Time";
import { jobsWith } from "./job-filter";
import { useTenantNames } from "./tenant-names";
import { Compared } from "./job-compared";
import { fanOutOf } from "./workflow-rows";
import { ChildTimes } from "./workflow-times";
import { FanOutBar, FanOutWords, ruleOf } from "./workflow-tree";

interface Props {
  root: JobPage;
  /** The id of a job or the name of a fan-out. Empty if nothing is selected. */
  id: string;
  /** The selected fan-out and its job, if it is loaded. */
  fanOut?: FanOut & { parent: string };
  onSelect: (id: string) => void;
}

export function Selected({ root, id, fanOut, onSelect }: Props) {
  return (
    <aside className="panel workflow-side" aria-label="Selected">
      {fanOut ? (
        <OfFanOut fanOut={fanOut} onSelect={onSelect} />
      ) : !id || fanOutOf(id) ? (
        <OfAll root={root} onSelect={onSelect} />
      ) : (
        <OfJob root={root} id={id} onSelect={onSelect} />
      )}
    </aside>
  );
}

function OfAll({ root, onSelect }: Pick<Props, "root" | "onSelect">) {
  const tenantOf = useTenantNames();
  return (
    <>
      <header>
        <h2>This workflow</h2>
      </header>
      <div className="body">
        <Facts
          facts={[
            ["Tenant", tenantOf(root.tenant_id)],
            ["Enqueued", <Time at={root.created_at} />],
            ["Duration", <Since from={root.created_at} to={root.finished_at} />],
            ["Run time", root.started_at && <Since from={root.started_at} to={root.finished_at} />],
            ["Compared", root.started_at && <Compared job={root} />],
            ["Waiting for", root.wait_on && <code>{root.wait_on.split(" ")[0]}</code>],
          ]}
        />
        <Failures query={{ root: root.id }} title="Failed jobs" onSelect={onSelect} />
        {root.last_error && <pre className="error">{root.last_error}</pre>}
      </div>
    </>
  );
}

function OfFanOut({ fanOut, onSelect }: { fanOut: FanOut & { parent: string }; onSelect: (id: string) => void }) {
  return (
    <>
      <header>
        <h2>Fan-out</h2>
        <Link to="/jobs" search={jobsWith({ "fan-out": fanOut.id }) as never}>
          Show as list
        </Link>
      </header>
      <div className="body">
        <FanOutBar fanOut={fanOut} />
        <p className="row quiet wrap">
          <FanOutWords fanOut={fanOut} />
        </p>
        <Facts
          facts={[
            ["Strategy", ruleOf(fanOut)],
            ["Created", <Time at={fanOut.created_at} />],
            ["Duration", <Since from={fanOut.created_at} to={fanOut.decided_at} />],
            ["Times out", fanOut.timeout_at && !fanOut.decision && <Time at={fanOut.timeout_at} />],
          ]}
        />
        <ChildTimes parent={fanOut.parent} fanOut={fanOut} onSelect={onSelect} />
        <Failures query={{ fan_out: fanOut.id }} title="Failed jobs" onSelect={onSelect} />
      </div>
    </>
  );
}

/** Up to twenty failed jobs with their errors. If there are more, a link to all failed jobs. */
function Failures({ query, title, onSelect }: { query: { root?: string; fan_out?: string }; title: string; onSelect: (id: string) => void }) {
  const failed = useRead("GET /jobs", { query: { ...query, status: ["failed", "dead_letter"], limit: 20 } }, { live: ["job"], when: (event) => !query.root || event.root_id === query.root, every: 1500 });
  const items = failed.data?.items.filter(({ id }) => id !== query.root);
  if (!items?.length) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className="failures">
        {items.map((job) => (
          <li key={job.id}>
            <button type="button" className="plain" onClick={() => onSelect(job.id)}>
              <Badge status={job.status}>
                {job.definition_key} {job.fan_out_index}
              </Badge>
              <code className="quiet cut">{job.last_error?.split("\n")[0]}</code>
            </button>
          </li>
        ))}
      </ul>
      {failed.data?.next && (
        <Link to="/jobs" search={jobsWith({ ...(query.root ? { root: query.root } : { "fan-out": query.fan_out! }), status: ["failed", "dead_letter"] }) as never}>
          Show all failed jobs
        </Link>
      )}
    </section>
  );
}

function OfJob({ root, id, onSelect }: Props) {
  const job = useRead("GET /jobs/{job_id}", { path: { job_id: id } }, { live: ["job", "fan_out"], when: (event) => event.id === id || event.parent_id === id });
  return <Loaded query={job} what="job">{(found) => (found.root_id ?? found.id) === root.id ? <JobInShort root={root} job={found} onSelect={onSelect} /> : <NotFound what="job" />}</Loaded>;
}

function JobInShort({ root, job, onSelect }: { root: JobPage; job: JobPage; onSelect: (id: string) => void }) {
  const session = useSession();
  const retry = useChange("POST /jobs/{job_id}/retry", { success: "Job queued again." });
  const cancel = useChange("POST /jobs/{job_id}/cancel", { success: ({ status }) => (status === "canceled" ? "Job canceled." : "Cancellation requested.") });
  const acts = session.can("POST /jobs/{job_id}/cancel") && job.id !== root.id;
  const retryable = isFinal(job.status) && job.status !== "succeeded";
  return (
    <>
      <header>
        <h2 className="cut" title={job.definition_key}>
          {job.definition_key}
        </h2>
        <Badge status={job.status} />
      </header>
      <div className="body">
        <Facts
          facts={[
            ["Id", <Link to="/jobs/$jobId" params={{ jobId: job.id }}><Id id={job.id} /></Link>],
            ["Index", job.fan_out_index],
            ["Queue", job.queue],
            ["Attempts", `${job.attempt_count} of ${job.max_attempts} used`],
            ["Enqueued", <Time at={job.created_at} />],
            ["Due", job.status === "scheduled" && <Time at={job.run_at} />],
            ["Started", job.started_at && <Time at={job.started_at} />],
            ["Run time", job.started_at && <Since from={job.started_at} to={job.finished_at} />],
            ["Compared", job.started_at && <Compared job={job} />],
            ["Handler time", job.own_s !== null && <Duration seconds={job.own_s} />],
            ["Waiting time", job.waiting_s !== null && <Duration seconds={job.waiting_s} />],
            ["Worker", job.last_worker],
            ["Waiting for", job.wait_on && <code>{job.wait_on.split(" ")[0]}</code>],
          ]}
        />
        <div className="actions">
          <Link className="button normal" to="/jobs/$jobId" params={{ jobId: job.id }}>
            Open job
          </Link>
          {acts && retryable && (
            <Button icon="retry" busy={retry.isPending} onClick={() => retry.mutate({ path: { job_id: job.id } })}>
              Retry job
            </Button>
          )}
          {acts && !isFinal(job.status) && (
            <Button icon="cancel" kind="danger" busy={cancel.isPending} onClick={() => cancel.mutate({ path: { job_id: job.id }, body: { tree: job.fan_outs.length > 0 } })}>
              Cancel job
            </Button>
          )}
        </div>
        {job.last_error && isFinal(job.status) && <pre className="error">{job.last_error}</pre>}
        {job.fan_outs.map((fanOut) => (
          <div key={fanOut.id}>
            <FanOutBar fanOut={fanOut} />
            <p className="row quiet wrap">
              <FanOutWords fanOut={fanOut} />
            </p>
          </div>
        ))}
        {job.id !== root.id && job.fan_outs.length > 0 && <Failures query={{ fan_out: job.fan_outs[0]!.id }} title="Failed sub-jobs" onSelect={onSelect} />}
        <section>
          <h3>Payload</h3>
          <Json value={job.payload} label="payload" open={1} />
        </section>
        {job.status === "succeeded" && (
          <section>
            <h3>Result</h3>
            <Json value={job.result} label="result" open={1} />
          </section>
        )}
      </div>
    </>
  );
}
