/** Run a job by hand: a form for the payload, from the definition's schema, and the options of an enqueue. */

import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChange, useRead, useTenant } from "../api/hooks";
import { stringify } from "../api/json";
import { searchOf, text } from "../api/search";
import { useSession } from "../api/session";
import type { Kind } from "../api/types";
import { Button } from "../parts/Button";
import { fieldErrors } from "../parts/field-errors";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Page, Panel } from "../parts/Page";
import { SchemaForm, type Payload } from "../parts/SchemaForm";
import { Empty, Loaded } from "../parts/States";
import "./triggers.css";

const params = searchOf({ definition: text });

/** The server's own definitions, which can't be enqueued by name. */
const RESERVED = "plait.";

export default function RunJob() {
  const [{ definition }, setSearch] = params.use();
  const session = useSession();
  const kinds = useRead("GET /jobs/definitions");
  const may = session.can("POST /jobs");
  return (
    <Page
      above={
        <>
          <Link to="/jobs">Jobs</Link>
          <Icon name="right" size={12} />
          New job
        </>
      }
      title="Run job"
    >
      {may ? (
        <Loaded query={kinds} what="definitions">
          {({ items }) => {
            const active = items.filter(({ is_active, key }) => is_active && !key.startsWith(RESERVED));
            const chosen = active.find(({ key }) => key === definition);
            return (
              <>
                <label className="field narrow">
                  Definition
                  <select value={chosen ? definition : ""} onChange={(event) => setSearch({ definition: event.target.value }, { replace: true })}>
                    <option value="">Select a definition</option>
                    {active.map(({ key }) => (
                      <option key={key}>{key}</option>
                    ))}
                  </select>
                </label>
                {definition && !chosen && (
                  <p role="alert" className="warn">
                    {items.some(({ key }) => key === definition) ? `${definition} can't be run: it is inactive or reserved.` : `There is no definition ${definition}. A worker registers its definitions when it starts.`}
                  </p>
                )}
                {chosen && <Form key={chosen.key} kind={chosen} />}
              </>
            );
          }}
        </Loaded>
      ) : (
        <Empty title="Your role can't run jobs" icon="jobs" />
      )}
    </Page>
  );
}

type Option = "queue" | "priority" | "max_attempts" | "timeout_seconds" | "delay_seconds" | "dedupe_key" | "limit_key" | "correlation_id" | "idempotency_key";

interface Field {
  key: Option;
  label: string;
  least?: number;
  most: number;
  /** Undefined: a text. */
  step?: number | "any";
  fallback: (kind: Kind) => string;
  hint?: string;
}

const none = () => "Default: none";

const OPTIONS: readonly Field[] = [
  { key: "queue", label: "Queue", most: 100, fallback: ({ queue }) => `Default: ${queue}` },
  { key: "priority", label: "Priority", least: -32768, most: 32767, step: 1, fallback: ({ priority }) => `Default: ${priority}`, hint: "Lower runs first." },
  { key: "max_attempts", label: "Max attempts", least: 1, most: 10_000, step: 1, fallback: ({ max_attempts }) => `Default: ${max_attempts}` },
  { key: "timeout_seconds", label: "Timeout (seconds)", least: 0.001, most: 3.2e9, step: "any", fallback: ({ timeout_seconds }) => `Default: ${timeout_seconds}` },
  { key: "delay_seconds", label: "Delay (seconds)", least: 0, most: 3.2e9, step: "any", fallback: none, hint: "The job starts after this time." },
  { key: "correlation_id", label: "Correlation id", most: 500, fallback: none },
  { key: "dedupe_key", label: "Dedupe key", most: 500, fallback: none, hint: "At most one unfinished job per key." },
  { key: "idempotency_key", label: "Idempotency key", most: 500, fallback: none, hint: "The same key and payload return the same job." },
  { key: "limit_key", label: "Limit key", most: 500, fallback: none, hint: "For the definition's limits per key." },
];

function Form({ kind }: { kind: Kind }) {
  const navigate = useNavigate();
  const tenant = useTenant();
  const session = useSession();
  const [payload, setPayload] = useState<Payload>({});
  const [sent, setSent] = useState<Payload>({});
  const [options, setOptions] = useState<Partial<Record<Option, string>>>({});
  const [fault, setFault] = useState<string | null>(null);
  const run = useChange("POST /jobs", {
    success: ({ deduplicated }) => (deduplicated ? "Another job has this key. No new job was enqueued." : "Job enqueued."),
    then: ({ id }) => void navigate({ to: "/jobs/$jobId", params: { jobId: id } }),
  });
  const errors = fieldErrors(run.error, "/payload", sent, payload);
  return (
    <form
      className="two"
      onSubmit={(event) => {
        event.preventDefault();
        if (fault) return;
        setSent(payload);
        run.mutate({ raw: stringify({ definition_key: kind.key, payload, ...given(options) }), headers: options.idempotency_key ? { "Idempotency-Key": options.idempotency_key } : {} });
      }}
    >
      <div className="stack">
        <Panel title="Payload">
          <div className="body fields">
            {kind.description && <p className="quiet">{kind.description}</p>}
            {kind.arg_schema === null && <p className="quiet">This definition has no schema: the API accepts any payload, and the handler may reject it.</p>}
            {takesNothing(kind.arg_schema) && <p className="quiet">This definition has no arguments.</p>}
            <SchemaForm schema={kind.arg_schema} value={payload} onChange={setPayload} onFault={setFault} errors={errors} />
          </div>
        </Panel>
        <details className="panel more">
          <summary>Options</summary>
          <div className="body fields pairs">
            {OPTIONS.map(({ key, label, least, most, step, fallback, hint }) => (
              <label key={key} className="field">
                {label}
                <input
                  aria-label={label}
                  placeholder={fallback(kind)}
                  value={options[key] ?? ""}
                  onChange={(event) => setOptions({ ...options, [key]: event.target.value })}
                  {...(step === undefined ? { maxLength: most } : { type: "number", min: least, max: most, step })}
                />
                {hint && <small>{hint}</small>}
              </label>
            ))}
          </div>
        </details>
        {run.error && (
          <p role="alert" className="bad">
            {run.error.message}
          </p>
        )}
        <footer className="actions">
          <Button kind="primary" icon="play" type="submit" disabled={fault !== null} busy={run.isPending}>
            Run job
          </Button>
          {session.isSuper && !tenant && <span className="quiet">The job will belong to the tenant default. Select another tenant in the navigation.</span>}
        </footer>
      </div>
      <div className="stack beside">
        <Panel title="Payload as JSON">
          <div className="body">
            <Json key={stringify(payload)} value={payload} label="payload" open={4} />
          </div>
        </Panel>
      </div>
    </form>
  );
}

/** The options that are set. */
function given(options: Partial<Record<Option, string>>): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const { key, step } of OPTIONS) {
    const value = options[key]?.trim();
    if (value && key !== "idempotency_key") found[key] = step === undefined ? value : Number(value);
  }
  return found;
}

function takesNothing(schema: unknown): boolean {
  const { properties, additionalProperties } = (schema ?? {}) as Record<string, unknown>;
  return additionalProperties === false && Object.keys(properties ?? {}).length === 0;
}
