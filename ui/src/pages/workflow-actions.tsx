/** Actions on a whole workflow. */

import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChange } from "../api/hooks";
import { useSession } from "../api/session";
import type { JobPage } from "../api/types";
import { isFinal } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Confirm, useDialog } from "../parts/Dialog";
import { useCommands } from "../shell/Palette";

type Asked = "cancel" | "failed" | "all";

export function WorkflowActions({ root }: { root: JobPage }) {
  const session = useSession();
  const dialog = useDialog<Asked>();
  const acts = session.can("POST /jobs/{job_id}/cancel");
  const live = !isFinal(root.status);
  const failed = !live && root.status !== "succeeded";
  useCommands(
    acts
      ? [
          ...(live ? [{ label: "Cancel this workflow", icon: "cancel" as const, act: () => dialog.open("cancel") }] : []),
          ...(failed ? [{ label: "Retry failed jobs of this workflow", icon: "retry" as const, act: () => dialog.open("failed") }] : []),
          ...(live ? [] : [{ label: "Rerun this workflow", icon: "retry" as const, act: () => dialog.open("all") }]),
        ]
      : [],
  );
  if (!acts) return null;
  return (
    <>
      {live && (
        <Button icon="cancel" kind="danger" onClick={() => dialog.open("cancel")}>
          Cancel workflow
        </Button>
      )}
      {failed && (
        <Button icon="retry" kind="primary" onClick={() => dialog.open("failed")}>
          Retry failed jobs
        </Button>
      )}
      {!live && (
        <Button icon="plus" onClick={() => dialog.open("all")}>
          Rerun workflow
        </Button>
      )}
      {dialog.about === "cancel" && <CancelWorkflow root={root} onClose={dialog.close} />}
      {dialog.about === "failed" && <RetryFailed root={root} onClose={dialog.close} />}
      {dialog.about === "all" && <Rerun root={root} onClose={dialog.close} />}
    </>
  );
}

interface Props {
  root: JobPage;
  onClose: () => void;
}

function CancelWorkflow({ root, onClose }: Props) {
  const [reason, setReason] = useState("");
  const cancel = useChange("POST /jobs/{job_id}/cancel", {
    success: ({ jobs = 1 }) => `${jobs.toLocaleString()} ${jobs === 1 ? "job" : "jobs"} canceled or asked to stop.`,
    then: onClose,
  });
  return (
    <Confirm title="Cancel this workflow?" action="Cancel workflow" danger busy={cancel.isPending} onClose={onClose} onConfirm={() => cancel.mutate({ path: { job_id: root.id }, body: { tree: true, reason: reason || null } })}>
      <p>Jobs that have not started will not run, and running handlers are asked to stop. Finished jobs are not changed.</p>
      <label className="field">
        Reason (recorded in the audit log)
        <input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}

function RetryFailed({ root, onClose }: Props) {
  const retry = useChange("POST /jobs/{job_id}/retry", { success: ({ jobs = 1 }) => `${jobs.toLocaleString()} ${jobs === 1 ? "job" : "jobs"} queued again.`, then: onClose });
  return (
    <Confirm title="Retry failed jobs?" action="Retry failed jobs" busy={retry.isPending} onClose={onClose} onConfirm={() => retry.mutate({ path: { job_id: root.id }, body: { tree: "failed" } })}>
      <p>The workflow resumes where it failed. Jobs that succeeded keep their results. All other jobs run again.</p>
    </Confirm>
  );
}

function Rerun({ root, onClose }: Props) {
  const navigate = useNavigate();
  const retry = useChange("POST /jobs/{job_id}/retry", {
    success: "New workflow started.",
    then: ({ id }) => {
      onClose();
      void navigate({ to: "/workflows/$jobId", params: { jobId: id } });
    },
  });
  return (
    <Confirm title="Rerun this workflow?" action="Start new workflow" busy={retry.isPending} onClose={onClose} onConfirm={() => retry.mutate({ path: { job_id: root.id }, body: { tree: "all" } })}>
      <p>This starts a new workflow with the same payload. The existing workflow and its results are kept.</p>
    </Confirm>
  );
}
