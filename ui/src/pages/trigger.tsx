/** One trigger: its configuration and its firings, and the form to create or edit it. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { call, etagOf, matching } from "../api/client";
import { useChange, useRead, useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { flag, oneOf, searchOf } from "../api/search";
import { useSession } from "../api/session";
import type { Fire, Tried, Trigger as TriggerShape } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Id } from "../parts/Code";
import { NextFirings } from "../parts/Cron";
import { Confirm, Dialog, useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Facts, Page, Panel } from "../parts/Page";
import { isObject, JsonField } from "../parts/SchemaForm";
import { Loaded, Empty } from "../parts/States";
import { Table, type Column } from "../parts/Table";
import { Tabs } from "../parts/Tabs";
import { Duration, Time } from "../parts/Time";
import { toast } from "../shell/toasts";
import { jobsWith } from "./job-filter";
import { useTenantNames } from "./tenant-names";
import { sampleOf } from "./trigger-draft";
import { TriggerForm } from "./trigger-form";
import { CATCH_UP, outcome, OVERLAP, State, When } from "./trigger-words";
import "./triggers.css";

const params = searchOf({ tab: oneOf("about", "history"), edit: flag });

export default function Trigger() {
  const { triggerId } = useParams({ strict: false }) as { triggerId: string };
  return triggerId === "new" ? <New /> : <Known id={triggerId} />;
}

function New() {
  const session = useSession();
  const navigate = useNavigate();
  const back = () => void navigate({ to: "/triggers" });
  if (!session.can("POST /jobs/triggers")) return <Empty title="You need the admin role to create triggers" icon="triggers" />;
  return (
    <Page title="Create trigger" above={<Link to="/triggers">Triggers</Link>}>
      <TriggerForm trigger={null} onClose={back} onSaved={(made) => void navigate({ to: "/triggers/$triggerId", params: { triggerId: made.id } })} />
    </Page>
  );
}

function Known({ id }: { id: string }) {
  const [{ edit }] = params.use();
  const trigger = useRead("GET /jobs/triggers/{trigger_id}", { path: { trigger_id: id } }, { poll: edit ? false : 5000 });
  return <Loaded query={trigger} what="trigger">{(found) => <Shown key={found.id} trigger={found} />}</Loaded>;
}

function Shown({ trigger }: { trigger: TriggerShape }) {
  const [{ tab, edit }, setSearch] = params.use();
  const session = useSession();
  const changes = session.can("PATCH /jobs/triggers/{trigger_id}") && trigger.origin !== "code";
  return (
    <Page
      above={
        <>
          <Link to="/triggers">Triggers</Link>
          <Icon name="right" size={12} />
          {trigger.trigger_type === "event" ? "Event trigger" : "Schedule"}
        </>
      }
      title={
        <>
          {trigger.label}
          <State trigger={trigger} />
          {trigger.origin === "code" && <Tag title="This trigger is declared in code and must be changed there.">in code</Tag>}
        </>
      }
      actions={!edit && <Actions trigger={trigger} changes={changes} onEdit={() => setSearch({ edit: true })} />}
    >
      {edit && changes ? (
        <TriggerForm trigger={trigger} onClose={() => setSearch({ edit: false })} onSaved={() => setSearch({ edit: false })} />
      ) : (
        <>
          {trigger.error && (
            <section className="trouble" aria-label="Error">
              <Icon name="alert" />
              <pre>{trigger.error}</pre>
            </section>
          )}
          <Tabs
            label="Trigger details"
            chosen={tab}
            onChoose={(key) => setSearch({ tab: key }, { replace: true })}
            tabs={[
              { key: "about", label: "Configuration" },
              { key: "history", label: "History" },
            ]}
          >
            {tab === "about" ? <About trigger={trigger} /> : <History trigger={trigger} />}
          </Tabs>
        </>
      )}
    </Page>
  );
}

function Actions({ trigger, changes, onEdit }: { trigger: TriggerShape; changes: boolean; onEdit: () => void }) {
  const session = useSession();
  const navigate = useNavigate();
  const dialog = useDialog<"test" | "delete">();
  const fire = useChange("POST /jobs/triggers/{trigger_id}/test", {
    then: ({ job_id }) => toast.good("Job created.", job_id ? { to: `/jobs/${job_id}`, label: "Open job" } : undefined),
  });
  const path = { trigger_id: trigger.id };
  const pause = useChange("PATCH /jobs/triggers/{trigger_id}", { success: ({ is_enabled }) => (is_enabled ? "Trigger resumed." : "Trigger paused.") });
  // Not useChange, which would refetch the deleted trigger.
  const client = useQueryClient();
  const tenant = useTenant();
  const remove = useMutation({
    mutationFn: () => call("DELETE /jobs/triggers/{trigger_id}", { path, headers: matching(etagOf("GET /jobs/triggers/{trigger_id}", { path })) }, tenant),
    onSuccess: async () => {
      toast.good("Trigger deleted.");
      await navigate({ to: "/triggers" });
      await client.invalidateQueries({ queryKey: ["GET /jobs/triggers"] });
    },
    onError: (error) => toast.bad(error.message),
  });
  return (
    <>
      {session.can("POST /jobs/triggers/{trigger_id}/test") && (
        <>
          {/* An event trigger needs event data, which the user enters in the dialog. */}
          <Button icon="play" busy={fire.isPending} onClick={() => (trigger.trigger_type === "event" ? dialog.open("test") : fire.mutate({ path, raw: stringify({ data: {}, run: true }) }))}>
            Fire now
          </Button>
          <Button icon="edit" onClick={() => dialog.open("test")}>
            Test trigger
          </Button>
        </>
      )}
      {changes && (
        <>
          <Button icon={trigger.is_enabled ? "pause" : "play"} busy={pause.isPending} onClick={() => pause.mutate({ path, body: { is_enabled: !trigger.is_enabled } })}>
            {trigger.is_enabled ? "Pause trigger" : "Resume trigger"}
          </Button>
          <Button icon="edit" onClick={onEdit}>
            Edit trigger
          </Button>
          <Button icon="trash" kind="danger" onClick={() => dialog.open("delete")}>
            Delete trigger
          </Button>
        </>
      )}
      {dialog.about === "test" && <TestDialog trigger={trigger} onClose={dialog.close} />}
      {dialog.about === "delete" && (
        <Confirm
          title="Delete this trigger?"
          action="Delete trigger"
          danger
          busy={remove.isPending}
          onClose={dialog.close}
          onConfirm={() => remove.mutate()}
        >
          <p>The trigger will not fire again. Jobs that it created are kept.</p>
        </Confirm>
      )}
    </>
  );
}

/** Test a trigger: render its payload, or create the job. */
function TestDialog({ trigger, onClose }: { trigger: TriggerShape; onClose: () => void }) {
  const event = trigger.trigger_type === "event";
  const [data, setData] = useState<unknown>(() => sampleOf(trigger.payload_template));
  const [fault, setFault] = useState<string | null>(null);
  const [tried, setTried] = useState<Tried | null>(null);
  const test = useChange("POST /jobs/triggers/{trigger_id}/test", { then: setTried });
  const run = (run: boolean) => test.mutate({ path: { trigger_id: trigger.id }, raw: stringify({ data: event ? (data ?? {}) : {}, run }) });
  return (
    <Dialog title={`Test ${trigger.label}`} className="wide" onClose={onClose}>
      <div className="fields">
        {event && (
          <JsonField
            label="Sample event data"
            rows={6}
            value={data}
            onFault={setFault}
            onChange={(next) => {
              setFault(next === undefined || isObject(next) ? null : "Event data must be a JSON object.");
              setData(next);
            }}
          />
        )}
        {fault && <p className="bad">{fault}</p>}
        <div role="status">
          {test.error && <p className="bad">{test.error.message}</p>}
          {tried && !test.error && (
            <>
              <h3>{`Payload for ${tried.definition_key}`}</h3>
              <Json value={tried.payload} label="payload" open={3} />
              {tried.job_id && (
                <p>
                  {"Created job: "}
                  <Link to="/jobs/$jobId" params={{ jobId: tried.job_id }}>
                    <Id id={tried.job_id} />
                  </Link>
                </p>
              )}
            </>
          )}
        </div>
        <footer className="actions">
          <Button onClick={() => run(false)} busy={test.isPending} disabled={fault !== null}>
            Preview payload
          </Button>
          <Button kind="primary" icon="play" onClick={() => run(true)} busy={test.isPending} disabled={fault !== null}>
            Create job
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

function About({ trigger }: { trigger: TriggerShape }) {
  const tenantOf = useTenantNames();
  const schedule = trigger.trigger_type === "schedule";
  const next = useRead("GET /jobs/triggers/{trigger_id}/preview", { path: { trigger_id: trigger.id }, query: { count: 5 } }, { enabled: schedule, poll: 30_000 });
  return (
    <div className="two">
      <Panel title="Configuration">
        <div className="body">
          <Facts
            facts={[
              ["Tenant", tenantOf(trigger.tenant_id)],
              ["Fires", <When trigger={trigger} />],
              ["Cron", trigger.cron_expr && <code>{trigger.cron_expr}</code>],
              ["Creates", <Link to="/jobs" search={jobsWith({ definition: trigger.definition_key }) as never}>{trigger.definition_key}</Link>],
              ["Queue", trigger.queue],
              ["Priority", trigger.priority],
              ["Max attempts", trigger.max_attempts],
              ["Timeout", trigger.timeout_seconds !== null && <Duration seconds={trigger.timeout_seconds} />],
              ["Dedupe window", !schedule && trigger.dedupe_window_seconds > 0 && <Duration seconds={trigger.dedupe_window_seconds} />],
              ["Missed firings (catch-up)", schedule && CATCH_UP[trigger.catch_up]],
              ["Overlap policy", schedule && OVERLAP[trigger.overlap]],
              ["Jitter", trigger.jitter_seconds > 0 && <Duration seconds={trigger.jitter_seconds} />],
              ["Correlation id", trigger.correlation_id && <code>{trigger.correlation_id}</code>],
              ["Dedupe key", trigger.dedupe_key && <code>{trigger.dedupe_key}</code>],
              ["Limit key", trigger.limit_key && <code>{trigger.limit_key}</code>],
              ["Last fired", trigger.last_at && <Time at={trigger.last_at} />],
              ["Last job", trigger.last_job_id && <Link to="/jobs/$jobId" params={{ jobId: trigger.last_job_id }}><Id id={trigger.last_job_id} /></Link>],
              ["Firings", trigger.fired.toLocaleString()],
              ["Missed, skipped, held", schedule && `${trigger.missed}, ${trigger.skipped}, ${trigger.held}`],
              ["Last changed", <Time at={trigger.updated_at} />],
            ]}
          />
        </div>
      </Panel>
      <div className="stack">
        {schedule && (
          <Panel title={trigger.is_enabled ? "Next five firings" : "Next firings if resumed"}>
            <div className="body">
              <NextFirings query={next} />
            </div>
          </Panel>
        )}
        <Panel title="Payload template">
          <div className="body">
            <Json value={trigger.payload_template} label="payload template" open={4} />
          </div>
        </Panel>
      </div>
    </div>
  );
}

function History({ trigger }: { trigger: TriggerShape }) {
  const fires = useRead("GET /jobs/triggers/{trigger_id}/fires", { path: { trigger_id: trigger.id }, query: { limit: 200 } }, { live: ["job"], every: 2000, poll: 5000 });
  return (
    <Loaded query={fires}>
      {({ items }) =>
        items.length ? <Table label="History" columns={FIRES} rows={items} keyOf={(one) => one.id} maxHeight={560} /> : <Empty title="No firings yet" icon="clock" />
      }
    </Loaded>
  );
}

const FIRES: Column<Fire>[] = [
  { key: "at", title: "Time", width: "110px", cell: (one) => <Time at={one.at} /> },
  { key: "for", title: "Scheduled time or event", width: "190px", cell: (one) => <FiredFor fire={one} /> },
  { key: "outcome", title: "Outcome", width: "120px", cell: outcome },
  {
    key: "job", title: "Job", width: "140px",
    cell: (one) => (one.job_id ? <Link to="/jobs/$jobId" params={{ jobId: one.job_id }}><Id id={one.job_id} /></Link> : <span className="quiet">–</span>),
  },
  { key: "error", title: "Error", width: "minmax(200px, 1fr)", cell: (one) => <span className="mono quiet" title={one.error ?? ""}>{one.error ?? ""}</span> },
];

function FiredFor({ fire }: { fire: Fire }) {
  if (fire.event_id)
    return (
      <Link to="/events/$eventId" params={{ eventId: fire.event_id }}>
        event <Id id={fire.event_id} />
      </Link>
    );
  return <Time at={fire.instant} />;
}
