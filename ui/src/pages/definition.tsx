/** One job definition: its limits, which can be edited, its payload schema, and whether it is active. */

import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { etagOf, matching } from "../api/client";
import { useChange, useRead } from "../api/hooks";
import { useSession } from "../api/session";
import type { Change, Definition as DefinitionShape } from "../api/types";
import { Tag } from "../parts/Badge";
import { Button } from "../parts/Button";
import { Confirm, useDialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Json } from "../parts/Json";
import { Page, Panel } from "../parts/Page";
import { Loaded, Empty } from "../parts/States";
import { Time } from "../parts/Time";
import { jobsWith } from "./job-filter";
import "./triggers.css";

const ROUTE = "GET /admin/jobs/definitions/{definition_key}";

export default function Definition() {
  const { definitionKey } = useParams({ strict: false }) as { definitionKey: string };
  const definition = useRead(ROUTE, { path: { definition_key: definitionKey } });
  return <Loaded query={definition} what="definition">{(found) => <Shown key={found.key} definition={found} />}</Loaded>;
}

function Shown({ definition }: { definition: DefinitionShape }) {
  const session = useSession();
  const may = session.can("PATCH /admin/jobs/definitions/{definition_key}");
  return (
    <Page
      above={
        <>
          <Link to="/definitions">Definitions</Link>
          <Icon name="right" size={12} />
          {definition.kind}
        </>
      }
      title={
        <>
          {definition.key}
          {definition.is_active ? <Tag tone="good">active</Tag> : <Tag tone="warn">inactive</Tag>}
        </>
      }
      actions={
        <>
          <Link className="button normal" to="/jobs" search={jobsWith({ definition: definition.key }) as never}>
            <Icon name="jobs" />
            Show jobs
          </Link>
          {definition.is_active && session.can("POST /jobs") && (
            <Link className="button primary" to="/jobs/new" search={{ definition: definition.key } as never}>
              <Icon name="play" />
              Run job
            </Link>
          )}
          {may && <Active definition={definition} />}
        </>
      }
    >
      {definition.description && <p className="quiet">{definition.description}</p>}
      <div className="two">
        {/* Reset when another user changes the definition: saving older values would undo that change. */}
        <Limits key={definition.updated_at} definition={definition} may={may} />
        {definition.overrides.length > 0 && <Overrides definition={definition} />}
        <Panel title="Payload schema">
          <div className="body">
            {definition.arg_schema ? <Json value={definition.arg_schema} label="schema" open={3} /> : <Empty title="No schema: any payload is accepted" icon="definitions" />}
          </div>
        </Panel>
      </div>
    </Page>
  );
}

function Active({ definition }: { definition: DefinitionShape }) {
  const dialog = useDialog();
  const path = { definition_key: definition.key };
  const change = useChange("PATCH /admin/jobs/definitions/{definition_key}", { success: ({ is_active }) => (is_active ? "Definition activated." : "Definition deactivated."), then: dialog.close });
  if (!definition.is_active)
    return (
      <Button icon="play" busy={change.isPending} onClick={() => change.mutate({ path, body: { is_active: true } })}>
        Activate definition
      </Button>
    );
  return (
    <>
      <Button icon="pause" kind="danger" onClick={() => dialog.open(true)}>
        Deactivate definition
      </Button>
      {dialog.about && (
        <Confirm title={`Deactivate ${definition.key}?`} action="Deactivate definition" danger busy={change.isPending} onClose={dialog.close} onConfirm={() => change.mutate({ path, body: { is_active: false } })}>
          <p>New jobs and triggers of this definition are rejected, for all tenants. Existing jobs still run.</p>
        </Confirm>
      )}
    </>
  );
}

/** Settings that operators have overridden, next to the values in code. */
function Overrides({ definition }: { definition: DefinitionShape }) {
  const session = useSession();
  const may = session.can("DELETE /admin/jobs/definitions/{definition_key}/overrides");
  const path = { definition_key: definition.key };
  const clear = useChange("DELETE /admin/jobs/definitions/{definition_key}/overrides", { success: "Override cleared. The value in code applies again." });
  return (
    <Panel title="Overrides">
      <div className="body">
        <p className="quiet">Overrides take precedence over the values in code until they are cleared, even after a worker restarts.</p>
        <table aria-label="Overrides">
          <thead>
            <tr>
              <th>Setting</th>
              <th>Override</th>
              <th>In code</th>
              <th>Set by</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {definition.overrides.map((one) => (
              <tr key={one.setting}>
                <td>{one.setting}</td>
                <td>
                  <code>{shown(one.value)}</code>
                </td>
                <td>
                  <code>{shown(one.code_value)}</code>
                </td>
                <td>
                  {one.author} <Time at={one.set_at} />
                </td>
                <td>
                  {may && (
                    <Button busy={clear.isPending} onClick={() => clear.mutate({ path, query: { setting: [one.setting] } })}>
                      Clear {one.setting}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {clear.error && (
          <p role="alert" className="bad">
            {clear.error.message}
          </p>
        )}
      </div>
    </Panel>
  );
}

const shown = (value: unknown) => (value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));

type Limit = Exclude<keyof Change, "is_active" | "arg_schema" | "description" | "queue">;

/** A setting that is not `needed` may be empty, which means no limit. */
const LIMITS: readonly { key: Limit; label: string; hint?: string; least: number; whole: boolean; needed?: boolean }[] = [
  { key: "max_attempts", label: "Max attempts", least: 1, whole: true, needed: true },
  { key: "timeout_seconds", label: "Timeout (seconds)", least: 0.001, whole: false, needed: true },
  { key: "priority", label: "Priority", hint: "Lower runs first.", least: -32768, whole: true, needed: true },
  { key: "max_running", label: "Concurrency limit", hint: "Maximum number of running jobs, across all tenants. Default: no limit.", least: 0, whole: true },
  { key: "rate_count", label: "Rate limit", hint: "Maximum number of job starts per period. Default: no limit.", least: 1, whole: true },
  { key: "rate_period_seconds", label: "Rate period (seconds)", least: 0.001, whole: false },
  { key: "key_max_running", label: "Concurrency limit per limit key", least: 0, whole: true },
  { key: "key_rate_count", label: "Rate limit per limit key", least: 1, whole: true },
  { key: "key_rate_period_seconds", label: "Rate period per limit key (seconds)", least: 0.001, whole: false },
];

function Limits({ definition, may }: { definition: DefinitionShape; may: boolean }) {
  const path = { definition_key: definition.key };
  const [values, setValues] = useState(() => Object.fromEntries(LIMITS.map(({ key }) => [key, definition[key] === null ? "" : String(definition[key])])) as Record<Limit, string>);
  const [queue, setQueue] = useState(definition.queue);
  const [tag] = useState(() => etagOf(ROUTE, { path }));
  const change = useChange("PATCH /admin/jobs/definitions/{definition_key}", { success: "Limits saved." });
  const body: Change = {
    ...(queue !== definition.queue ? { queue } : {}),
    ...Object.fromEntries(
      LIMITS.map(({ key }) => [key, values[key].trim() === "" ? null : Number(values[key])] as const).filter(([key, value]) => value !== definition[key]),
    ),
  };
  const changed = Object.keys(body).length > 0;
  return (
    <Panel title="Limits">
      <form
        className="body fields"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ path, body, headers: matching(tag) });
        }}
      >
        <div className="fields pairs">
          <label className="field">
            Queue
            <input required maxLength={100} disabled={!may} value={queue} onChange={(event) => setQueue(event.target.value)} />
          </label>
          {LIMITS.map(({ key, label, hint, least, whole, needed }) => (
            <label key={key} className="field">
              {label}
              <input type="number" aria-label={label} aria-describedby={hint ? `about-${key}` : undefined} min={least} step={whole ? 1 : "any"} required={needed} disabled={!may} placeholder={needed ? "" : "No limit"} value={values[key]} onChange={(event) => setValues({ ...values, [key]: event.target.value })} />
              {hint && <small id={`about-${key}`}>{hint}</small>}
            </label>
          ))}
        </div>
        {change.error && (
          <p role="alert" className="bad">
            {change.error.message}
          </p>
        )}
        <footer className="actions">
          {may && (
            <Button kind="primary" type="submit" disabled={!changed} busy={change.isPending}>
              Save limits
            </Button>
          )}
          <span className="quiet">
            {"Changed "}
            <Time at={definition.updated_at} />
          </span>
        </footer>
      </form>
    </Panel>
  );
}
