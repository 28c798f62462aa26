/** The actions on a job that the user's role may perform. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChange } from "../api/hooks";
import { parse, stringify } from "../api/json";
import { useSession } from "../api/session";
import type { JobPage } from "../api/types";
import { isFinal } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Code";
import { Confirm, Dialog, useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { useCommands } from "../shell/Palette";

type Asked = "cancel" | "retry" | "again" | "signal";

export function JobActions({ job, tree }: { job: JobPage; tree: boolean }) {
  const session = useSession();
  const dialog = useDialog<Asked>();
  const now = useChange("POST /jobs/{job_id}/reschedule", { success: "Job queued." });
  const acts = session.can("POST /jobs/{job_id}/cancel");
  const live = !isFinal(job.status);
  const retryable = !live && job.status !== "succeeded";
  const runNow = () => now.mutate({ path: { job_id: job.id }, body: { scheduled_for: new Date(0).toISOString() } });
  useCommands(
    acts
      ? [
          ...(live ? [{ label: "Cancel this job", icon: "cancel" as const, act: () => dialog.open("cancel") }] : []),
          ...(retryable ? [{ label: "Retry this job", icon: "retry" as const, act: () => dialog.open("retry") }] : []),
          { label: "Enqueue this job again", icon: "plus" as const, act: () => dialog.open("again") },
        ]
      : [],
  );
  return (
    <>
      {tree && (
        <Link className="button normal" to="/workflows/$jobId" params={{ jobId: job.root_id ?? job.id }}>
          <Icon name="tree" />
          Show workflow
        </Link>
      )}
      {acts && job.status === "scheduled" && (
        <Button icon="play" busy={now.isPending} onClick={runNow}>
          Run now
        </Button>
      )}
      {acts && retryable && (
        <Button icon="retry" onClick={() => dialog.open("retry")}>
          Retry job
        </Button>
      )}
      {acts && live && (
        <Button icon="cancel" kind="danger" onClick={() => dialog.open("cancel")}>
          Cancel job
        </Button>
      )}
      {acts && (
        <Button icon="plus" onClick={() => dialog.open("again")}>
          Enqueue again
        </Button>
      )}
      <Menu label="More" icon="more">
        {(close) => (
          <>
            <CopyItem label="Copy as command line" text={() => asCommand(job)} onDone={close} />
            <CopyItem label="Copy as curl" text={() => asCurl(job)} onDone={close} />
            <CopyItem label="Copy as JSON" text={() => stringify(job, 2)} onDone={close} />
            {acts && live && (
              <button
                type="button"
                className="item"
                onClick={() => {
                  close();
                  dialog.open("signal");
                }}
              >
                <Icon name="events" />
                Send signal…
              </button>
            )}
          </>
        )}
      </Menu>
      {dialog.about === "cancel" && <CancelDialog job={job} onClose={dialog.close} />}
      {dialog.about === "retry" && <RetryDialog job={job} onClose={dialog.close} />}
      {dialog.about === "again" && <AgainDialog job={job} onClose={dialog.close} />}
      {dialog.about === "signal" && <SignalDialog job={job} onClose={dialog.close} />}
    </>
  );
}

function CopyItem({ label, text, onDone }: { label: string; text: () => string; onDone: () => void }) {
  return (
    <span className="copy-item" onClick={() => setTimeout(onDone, 700)}>
      <Copy text={text} label={label} words={label} />
    </span>
  );
}

interface Props {
  job: JobPage;
  onClose: () => void;
}

function CancelDialog({ job, onClose }: Props) {
  const [reason, setReason] = useState("");
  const [tree, setTree] = useState(job.fan_outs.length > 0);
  const cancel = useChange("POST /jobs/{job_id}/cancel", {
    success: ({ status, jobs }) => (status === "canceled" ? (jobs === 1 ? "Job canceled." : `${jobs} jobs canceled or asked to stop.`) : "Cancellation requested."),
    then: onClose,
  });
  return (
    <Confirm
      title="Cancel this job?"
      action="Cancel job"
      danger
      busy={cancel.isPending}
      onConfirm={() => cancel.mutate({ path: { job_id: job.id }, body: { reason: reason || null, tree } })}
      onClose={onClose}
    >
      <p>{job.status === "running" ? "The handler will be asked to stop. If it completes successfully anyway, the job succeeds." : "The job will not run."}</p>
      {job.fan_outs.length > 0 && (
        <label className="check">
          <input type="checkbox" checked={tree} onChange={(event) => setTree(event.target.checked)} />
          Cancel all sub-jobs too
        </label>
      )}
      <label className="field">
        Reason (recorded in the audit log)
        <input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}

function RetryDialog({ job, onClose }: Props) {
  const [drop, setDrop] = useState(false);
  const retry = useChange("POST /jobs/{job_id}/retry", { success: "Job queued again.", then: onClose });
  return (
    <Confirm
      title="Retry this job?"
      action="Retry job"
      busy={retry.isPending}
      onConfirm={() => retry.mutate({ path: { job_id: job.id }, body: drop ? { steps: "drop" } : undefined })}
      onClose={onClose}
    >
      <p>The job is queued again with the same payload, and may use all its attempts again. Attempt numbers continue after the last one.</p>
      {job.steps.length > 0 && (
        <label className="check">
          <input type="checkbox" checked={drop} onChange={(event) => setDrop(event.target.checked)} />
          {`Start from the beginning and discard ${job.steps.length} completed steps`}
        </label>
      )}
    </Confirm>
  );
}

/** Enqueue a copy of the job with an edited payload. The text is sent unparsed, so that large numbers stay exact. */
function AgainDialog({ job, onClose }: Props) {
  const navigate = useNavigate();
  const [text, setText] = useState(() => stringify(job.payload, 2));
  const [queue, setQueue] = useState(job.queue);
  const again = useChange("POST /jobs", {
    success: "Job enqueued.",
    then: ({ id }) => {
      onClose();
      void navigate({ to: "/jobs/$jobId", params: { jobId: id } });
    },
  });
  const wrong = fault(text);
  return (
    <Dialog title={`Enqueue ${job.definition_key} again`} className="wide" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (wrong) return;
          again.mutate({ raw: requestOf(job, text, queue) });
        }}
      >
        <label className="field">
          Payload
          <textarea rows={14} spellCheck={false} value={text} aria-invalid={wrong !== null} aria-describedby="payload-fault" onChange={(event) => setText(event.target.value)} />
        </label>
        <p id="payload-fault" role="alert" className="bad">
          {wrong ?? again.error?.message ?? ""}
        </p>
        <label className="field">
          Queue
          <input value={queue} maxLength={100} required onChange={(event) => setQueue(event.target.value)} />
        </label>
        <footer className="actions">
          <Button onClick={onClose}>Go back</Button>
          <Button kind="primary" type="submit" disabled={wrong !== null} busy={again.isPending}>
            Enqueue job
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function SignalDialog({ job, onClose }: Props) {
  const [name, setName] = useState(/^signal (.+)$/.exec(job.wait_on ?? "")?.[1] ?? "");
  const [text, setText] = useState("null");
  const signal = useChange("POST /jobs/{job_id}/signal", { success: "Signal sent. It is stored until the job receives it.", then: onClose });
  let wrong = "";
  try {
    parse(text);
  } catch (error) {
    wrong = (error as Error).message;
  }
  return (
    <Confirm
      title="Send signal"
      action="Send signal"
      busy={signal.isPending}
      disabled={!name || wrong !== ""}
      onConfirm={() => signal.mutate({ path: { job_id: job.id }, raw: `{"name":${JSON.stringify(name)},"payload":${text}}` })}
      onClose={onClose}
    >
      <label className="field">
        Name
        <input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        Payload (JSON)
        <textarea rows={5} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <p className="bad">{wrong}</p>
    </Confirm>
  );
}

/** The error in a payload, or null. The server also checks the schema. */
function fault(text: string): string | null {
  try {
    const value = parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? null : "Payload must be a JSON object";
  } catch (error) {
    return `Not valid JSON: ${(error as Error).message}`;
  }
}

function requestOf(job: JobPage, payload: string, queue = job.queue): string {
  const rest = JSON.stringify({ queue, priority: job.priority, max_attempts: job.max_attempts, ...(job.timeout_seconds === null ? {} : { timeout_seconds: job.timeout_seconds }), ...(job.correlation_id ? { correlation_id: job.correlation_id } : {}) });
  return `{"definition_key":${JSON.stringify(job.definition_key)},"payload":${payload},${rest.slice(1)}`;
}

function asCommand(job: JobPage): string {
  const options = [`--payload ${quoted(stringify(job.payload))}`, `--queue ${quoted(job.queue)}`, ...(job.correlation_id ? [`--correlation-id ${quoted(job.correlation_id)}`] : [])];
  return `plait enqueue ${options.join(" ")} -- ${quoted(job.definition_key)}`;
}

function asCurl(job: JobPage): string {
  return [
    `curl -X POST ${quoted(`${location.origin}/api/v1/jobs`)}`,
    `-H "Authorization: Bearer $PLAIT_KEY"`,
    `-H 'Content-Type: application/json'`,
    `--data-raw ${quoted(requestOf(job, stringify(job.payload)))}`,
  ].join(" \\\n  ");
}

/** Quote for a shell. Inside single quotes only the quote itself is special (T124). */
function quoted(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
