/** The form for a trigger: when it fires, and the job that it creates. Beside the form: the next firings and the rendered payload. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useId, useMemo, useState } from "react";
import { call, etagOf, matching } from "../api/client";
import { useChange, useRead, useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { useSession } from "../api/session";
import type { PageOfInstant, Trigger } from "../api/types";
import { Button } from "../parts/Button";
import { CronWords, NextFirings } from "../parts/Cron";
import { Json } from "../parts/Json";
import { Panel } from "../parts/Page";
import { fieldErrors } from "../parts/field-errors";
import { isObject, JsonField, SchemaForm, type Payload } from "../parts/SchemaForm";
import { Loading } from "../parts/States";
import { draftOf, requestOf, sampleOf, type Draft } from "./trigger-draft";
import { CATCH_UP, OVERLAP } from "./trigger-words";

interface Props {
  /** Null for a new trigger. */
  trigger: Trigger | null;
  onClose: () => void;
  onSaved: (trigger: Trigger) => void;
}

export function TriggerForm({ trigger, onClose, onSaved }: Props) {
  const [draft, setDraft] = useState(() => draftOf(trigger));
  const [fault, setFault] = useState<string | null>(null);
  const kinds = useRead("GET /jobs/definitions");
  const path = { trigger_id: trigger?.id ?? "" };
  const [sent, setSent] = useState<Payload>({});
  const [tag] = useState(() => (trigger ? etagOf("GET /jobs/triggers/{trigger_id}", { path }) : undefined));
  const create = useChange("POST /jobs/triggers", { success: "Trigger created.", then: onSaved });
  const change = useChange("PATCH /jobs/triggers/{trigger_id}", { success: "Trigger saved.", then: onSaved });
  const set = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  const field = (key: Exclude<keyof Draft, "payload">) => ({ value: draft[key], onChange: (event: { target: { value: string } }) => set({ [key]: event.target.value }) });
  const schedule = draft.trigger_type === "schedule";
  const chosen = kinds.data?.items.find(({ key }) => key === draft.definition_key);
  const refused = (trigger ? change : create).error;
  if (!kinds.data) return <Loading />;
  return (
    <form
      className="two"
      onSubmit={(event) => {
        event.preventDefault();
        if (fault) return;
        const raw = stringify(requestOf(draft, trigger === null));
        setSent(draft.payload);
        if (trigger) change.mutate({ path, raw, headers: matching(tag) });
        else create.mutate({ raw });
      }}
    >
      <div className="stack">
        <Panel title={schedule ? "Schedule" : "Event"}>
          <div className="body fields">
            {!trigger && (
              <>
                <label className="field">
                  Label
                  <input required maxLength={200} autoFocus placeholder="Nightly report" {...field("label")} />
                </label>
                <fieldset className="choice">
                  <legend>Type</legend>
                  {(["schedule", "event"] as const).map((kind) => (
                    <label key={kind} className="check">
                      <input type="radio" name="trigger_type" checked={draft.trigger_type === kind} onChange={() => set({ trigger_type: kind })} />
                      {kind === "schedule" ? "Schedule" : "Event trigger"}
                    </label>
                  ))}
                </fieldset>
              </>
            )}
            {schedule ? <ScheduleFields draft={draft} set={set} /> : (
              <label className="field">
                Event name
                <input required maxLength={200} pattern="[A-Za-z0-9_.:\/\-]{1,200}" placeholder="provider.folder.updated" {...field("event_name")} />
              </label>
            )}
          </div>
        </Panel>
        <Panel title="Job to create">
          <div className="body fields">
            <label className="field">
              Definition
              <select
                required
                value={draft.definition_key}
                onChange={(event) => {
                  setFault(null);
                  set({ definition_key: event.target.value });
                }}
              >
                <option value="">Select a definition</option>
                {draft.definition_key && !chosen && <option>{draft.definition_key}</option>}
                {kinds.data.items
                  .filter(({ is_active, key }) => is_active || key === draft.definition_key)
                  .map(({ key }) => (
                    <option key={key}>{key}</option>
                  ))}
              </select>
              {chosen?.description && <small>{chosen.description}</small>}
            </label>
            <div>
              <h3>Payload</h3>
              <p className="quiet hint">
                {"Use a template such as "}
                <code>{schedule ? "{{schedule.instant}}" : "{{event.a.b}}"}</code>
                {" to insert a value."}
              </p>
              <SchemaForm key={`${draft.definition_key} ${chosen === undefined}`} schema={chosen?.arg_schema} value={draft.payload} onChange={(payload) => set({ payload })} onFault={setFault} errors={fieldErrors(refused, "/payload_template", sent, draft.payload)} templates />
            </div>
          </div>
        </Panel>
        <details className="panel more">
          <summary>More settings</summary>
          <MoreFields draft={draft} schedule={schedule} field={field} />
        </details>
        {refused && (
          <p role="alert" className="bad">
            {refused.message}
          </p>
        )}
        <footer className="actions">
          <Button kind="primary" type="submit" disabled={fault !== null} busy={create.isPending || change.isPending}>
            {trigger ? "Save trigger" : "Create trigger"}
          </Button>
          <Button onClick={onClose}>Discard changes</Button>
        </footer>
      </div>
      <div className="stack beside">
        {schedule && <SchedulePreview draft={draft} />}
        {draft.definition_key && <PayloadPreview draft={draft} schedule={schedule} />}
      </div>
    </form>
  );
}

type Setting = { draft: Draft; set: (part: Partial<Draft>) => void };

const ZONES: string[] = typeof Intl.supportedValuesOf === "function" ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : ["UTC"];

function ScheduleFields({ draft, set }: Setting) {
  const zones = useId();
  return (
    <>
      <fieldset className="choice">
        <legend>Schedule by</legend>
        <label className="check">
          <input type="radio" name="way" checked={draft.way === "cron"} onChange={() => set({ way: "cron" })} />
          Cron expression
        </label>
        <label className="check">
          <input type="radio" name="way" checked={draft.way === "every"} onChange={() => set({ way: "every" })} />
          Interval
        </label>
      </fieldset>
      {draft.way === "cron" ? (
        <label className="field">
          Cron expression (minute, hour, day, month, weekday)
          <input className="mono" required maxLength={500} value={draft.cron_expr} onChange={(event) => set({ cron_expr: event.target.value })} />
          <small>
            <CronWords cron={draft.cron_expr.trim()} every={null} timezone={null} />
          </small>
        </label>
      ) : (
        <label className="field">
          Interval (seconds)
          <input type="number" required min={1} step="any" value={draft.every_seconds} onChange={(event) => set({ every_seconds: event.target.value })} />
        </label>
      )}
      <label className="field">
        Time zone
        <input list={zones} maxLength={100} placeholder="Default: the tenant's" value={draft.timezone} onChange={(event) => set({ timezone: event.target.value })} />
        <datalist id={zones}>
          {ZONES.map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </label>
    </>
  );
}

function MoreFields({ draft, schedule, field }: { draft: Draft; schedule: boolean; field: (key: Exclude<keyof Draft, "payload">) => { value: string; onChange: (event: { target: { value: string } }) => void } }) {
  return (
    <div className="body fields pairs">
      {schedule ? (
        <>
          <label className="field">
            Missed firings (catch-up)
            <select {...field("catch_up")}>
              {Object.entries(CATCH_UP).map(([key, label]) => (
                <option key={key} value={key}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {draft.catch_up === "window" && (
            <label className="field">
              Catch-up window (seconds)
              <input type="number" min={0} step="any" required {...field("catch_up_window_seconds")} />
            </label>
          )}
          <label className="field">
            Overlap policy
            <select {...field("overlap")}>
              {Object.entries(OVERLAP).map(([key, label]) => (
                <option key={key} value={key}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            Jitter (seconds)
            <input type="number" min={0} max={86400} step="any" {...field("jitter_seconds")} />
          </label>
        </>
      ) : (
        <label className="field">
          Dedupe window (seconds)
          <input type="number" min={0} max={2592000} placeholder="Default: 300" {...field("dedupe_window_seconds")} />
        </label>
      )}
      <label className="field">
        Queue
        <input maxLength={100} placeholder="Default: the definition's" {...field("queue")} />
      </label>
      <label className="field">
        Priority (lower runs first)
        <input type="number" min={-32768} max={32767} placeholder="Default: the definition's" {...field("priority")} />
      </label>
      <label className="field">
        Max attempts
        <input type="number" min={1} max={10000} placeholder="Default: the definition's" {...field("max_attempts")} />
      </label>
      <label className="field">
        Timeout (seconds)
        <input type="number" min={0} step="any" placeholder="Default: the definition's" {...field("timeout_seconds")} />
      </label>
      <label className="field">
        Correlation id
        <input maxLength={500} {...field("correlation_id")} />
      </label>
      <label className="field">
        Dedupe key
        <input maxLength={500} {...field("dedupe_key")} />
      </label>
      <label className="field">
        Limit key
        <input maxLength={500} {...field("limit_key")} />
      </label>
    </div>
  );
}

/** The next five firings of the edited schedule. */
function SchedulePreview({ draft }: { draft: Draft }) {
  const tenant = useTenant();
  const asked = useSettled(useMemo(() => ({ cron_expr: draft.way === "cron" ? draft.cron_expr.trim() : null, every_seconds: draft.way === "every" ? Number(draft.every_seconds) : null, timezone: draft.timezone.trim() || "UTC" }), [draft.way, draft.cron_expr, draft.every_seconds, draft.timezone]));
  const ready = Boolean(asked.cron_expr || asked.every_seconds);
  const next = useQuery<PageOfInstant, Error>({
    queryKey: ["preview", tenant, asked],
    queryFn: ({ signal }) => call("POST /jobs/triggers/preview", { query: { count: 5 }, body: asked }, tenant, signal),
    enabled: ready,
    retry: false,
  });
  return (
    <Panel title="Next five firings">
      <div className="body">
        {ready ? <NextFirings query={next} /> : <p className="quiet">Enter a schedule.</p>}
        {ready && !draft.timezone.trim() && <p className="quiet">Times are shown in UTC. The schedule will use the tenant's time zone.</p>}
      </div>
    </Panel>
  );
}

/** A preview of the rendered payload. An event trigger's template is rendered with sample data. */
function PayloadPreview({ draft, schedule }: { draft: Draft; schedule: boolean }) {
  const session = useSession();
  const tenant = useTenant();
  const [data, setData] = useState<unknown>(() => sampleOf(draft.payload));
  const body = useSettled(
    useDeferredValue(
      stringify({ definition_key: draft.definition_key, payload_template: draft.payload, ...(schedule ? {} : { event_name: draft.event_name.trim() || "event", data: isObject(data) ? data : {} }) }),
    ),
  );
  const render = useMutation({ mutationFn: (raw: string) => call("POST /jobs/triggers/render", { raw }, tenant) });
  const { mutate } = render;
  const may = session.can("POST /jobs/triggers/render");
  useEffect(() => {
    if (may) mutate(body);
  }, [body, may, mutate]);
  return (
    <Panel title={schedule ? "Rendered payload" : "Test with a sample event"}>
      <div className="body fields">
        {!schedule && <JsonField label="Sample event data" rows={5} value={data} onFault={() => undefined} onChange={setData} />}
        <div role="status" aria-label="Rendered payload">
          {render.error ? (
            <p className="bad">{render.error.message}</p>
          ) : render.data?.error ? (
            <p className="bad">{render.data.error}</p>
          ) : (
            render.data && <Json key={stringify(render.data.payload)} value={render.data.payload} label="rendered payload" open={4} />
          )}
        </div>
      </div>
    </Panel>
  );
}

/** Debounce a value. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 300);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
