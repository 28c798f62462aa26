/** Why a job is not running, and what to do. The queue, definition, tenant, worker or job that a reason names is a link. */

import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { useRead } from "../api/hooks";
import { useSession, type Signed } from "../api/session";
import type { JobPage } from "../api/types";
import { Icon } from "../parts/Icon";
import { jobsWith } from "./job-filter";

export function Reasons({ job }: { job: JobPage }) {
  const session = useSession();
  const explained = useRead(
    "GET /jobs/{job_id}/explain",
    { path: { job_id: job.id } },
    { live: ["job", "queue", "worker"], every: 2000, poll: 10_000 },
  );
  if (!explained.data?.reasons.length) return null;
  return (
    <section className="notice" aria-label="Why this job is not running">
      <Icon name="clock" />
      <div>
        <h2>Why this job is not running</h2>
        <ul>
          {explained.data.reasons.map(({ code, explanation, remedy }) => (
            <li key={`${code} ${explanation}`} data-reason={code}>
              {linked(sentence(explanation), job, session)}{" "}
              {remedy && <span className="quiet">{sentence(remedy)}</span>}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** Add a capital letter and a full stop. */
function sentence(words: string): string {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** The text of a reason, with links. It comes from plait.explain_job, which names things as "queue mail" and "tenant acme". */
function linked(text: string, job: JobPage, session: Signed): ReactNode {
  const queue = escaped(job.queue);
  const definition = escaped(job.definition_key);
  const named = new RegExp(`(\\bqueue ${queue}(?![\\w:-])|\\btenant [a-z0-9_-]+|\\bworker \\d+|\\bfan-out ${UUID}|${UUID}|(?<=(?:definition|of) )${definition}(?![\\w:-]))`, "gi");
  return text.split(named).map((part, at) => <Fragment key={at}>{at % 2 ? link(part, job, session) : part}</Fragment>);
}

const escaped = (name: string) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function link(words: string, job: JobPage, session: Signed): ReactNode {
  const [kind = "", name = ""] = words.split(" ");
  if (words === job.definition_key)
    return session.can("GET /admin/jobs/definitions") ? (
      <Link to="/definitions/$definitionKey" params={{ definitionKey: words }}>
        {words}
      </Link>
    ) : (
      <Link to="/jobs" search={jobsWith({ definition: words }) as never}>
        {words}
      </Link>
    );
  switch (kind.toLowerCase()) {
    case "queue":
      return (
        <Link to="/queues" search={{ q: name } as never}>
          {words}
        </Link>
      );
    case "tenant":
      if (!session.can("GET /tenants")) return words;
      return (
        <Link to="/tenants" search={{ q: name } as never}>
          {words}
        </Link>
      );
    case "worker":
      if (!session.can("GET /workers")) return words;
      return (
        <Link to="/workers" search={{ worker: name } as never}>
          {words}
        </Link>
      );
    case "fan-out":
      return (
        <Link to="/jobs" search={jobsWith({ "fan-out": name }) as never}>
          {words}
        </Link>
      );
    default:
      return (
        <Link to="/jobs/$jobId" params={{ jobId: words }}>
          {words}
        </Link>
      );
  }
}
