/** What can be done with a workflow as a whole. */

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
          ...(failed ? [{ label: "Retry what failed in this workflow", icon: "retry" as const, act: () => dialog.open("failed") }] : []),
          ...(live ? [] : [{ label: "Retry all of this workflow", icon: "retry" as const, act: () => dialog.open("all") }]),
        ]
      : [],
  );
  if (!acts) return null;
  return (
    <>
      {live && (
        <Button icon="cancel" kind="danger" onClick={() => dialog.open("cancel")}>
          Cancel tree
        </Button>
      )}
      {failed && (
        <Button icon="retry" kind="primary" onClick={() => dialog.open("failed")}>
          Retry failed
        </Button>
      )}
      {!live && (
        <Button icon="plus" onClick={() => dialog.open("all")}>
          Retry all
        </Button>
      )}
      {dialog.about === "cancel" && <CancelTree root={root} onClose={dialog.close} />}
      {dialog.about === "failed" && <RetryFailed root={root} onClose={dialog.close} />}
      {dialog.about === "all" && <RetryAll root={root} onClose={dialog.close} />}
    </>
  );
}

interface Props {
  root: JobPage;
  onClose: () => void;
}

function CancelTree({ root, onClose }: Props) {
  const [reason, setReason] = useState("");
  const cancel = useChange("POST /jobs/{job_id}/cancel", {
    said: ({ jobs = 1 }) => `${jobs.toLocaleString()} ${jobs === 1 ? "job was" : "jobs were"} canceled or asked to stop.`,
    then: onClose,
  });
  return (
    <Confirm title="Cancel the whole workflow?" action="Cancel the workflow" danger busy={cancel.isPending} onClose={onClose} onConfirm={() => cancel.mutate({ path: { job_id: root.id }, body: { tree: true, reason: reason || null } })}>
      <p>What has not begun will not run; handlers that run are asked to stop. What has ended stays as it is.</p>
      <label className="field">
        Reason, for the audit
        <input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Confirm>
  );
}

function RetryFailed({ root, onClose }: Props) {
  const retry = useChange("POST /jobs/{job_id}/retry", { said: ({ jobs = 1 }) => `${jobs.toLocaleString()} ${jobs === 1 ? "job runs" : "jobs run"} again.`, then: onClose });
  return (
    <Confirm title="Retry what failed?" action="Retry what failed" busy={retry.isPending} onClose={onClose} onConfirm={() => retry.mutate({ path: { job_id: root.id }, body: { tree: "failed" } })}>
      <p>The workflow goes on where it failed: what has succeeded keeps its results, and what has not runs again.</p>
    </Confirm>
  );
}

function RetryAll({ root, onClose }: Props) {
  const navigate = useNavigate();
  const retry = useChange("POST /jobs/{job_id}/retry", {
    said: "A new workflow was begun.",
    then: ({ id }) => {
      onClose();
      void navigate({ to: "/workflows/$jobId", params: { jobId: id } });
    },
  });
  return (
    <Confirm title="Run all of it again?" action="Begin a new workflow" busy={retry.isPending} onClose={onClose} onConfirm={() => retry.mutate({ path: { job_id: root.id }, body: { tree: "all" } })}>
      <p>A new workflow begins with the same payload. This one and its results stay as they are.</p>
    </Confirm>
  );
}
