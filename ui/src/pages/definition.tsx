/** One kind of job: its limits, which can be changed here; its schema; and whether it takes new jobs. */

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
import { Answered, Empty } from "../parts/States";
import { Time } from "../parts/Time";
import { jobsWith } from "./job-filter";
import "./triggers.css";

const ROUTE = "GET /admin/jobs/definitions/{definition_key}";

export default function Definition() {
  const { definitionKey } = useParams({ strict: false }) as { definitionKey: string };
  const definition = useRead(ROUTE, { path: { definition_key: definitionKey } });
  return <Answered query={definition} what="definition">{(found) => <Shown key={found.key} definition={found} />}</Answered>;
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
            Its jobs
          </Link>
          {may && <Active definition={definition} />}
        </>
      }
    >
      {definition.description && <p className="quiet">{definition.description}</p>}
      <div className="two">
        {/* Anew when somebody has changed it: what is written here would else undo that. */}
        <Limits key={definition.updated_at} definition={definition} may={may} />
        {definition.overrides.length > 0 && <Overrides definition={definition} />}
        <Panel title="Schema of its payloads">
          <div className="body">
            {definition.arg_schema ? <Json value={definition.arg_schema} label="schema" open={3} /> : <Empty title="Any payload is taken" icon="definitions" />}
          </div>
        </Panel>
      </div>
    </Page>
  );
}

function Active({ definition }: { definition: DefinitionShape }) {
  const dialog = useDialog();
  const path = { definition_key: definition.key };
  const change = useChange("PATCH /admin/jobs/definitions/{definition_key}", { said: ({ is_active }) => (is_active ? "It takes new jobs." : "It takes no new jobs."), then: dialog.close });
  if (!definition.is_active)
    return (
      <Button icon="play" busy={change.isPending} onClick={() => change.mutate({ path, body: { is_active: true } })}>
        Activate
      </Button>
    );
  return (
    <>
      <Button icon="pause" kind="danger" onClick={() => dialog.open(true)}>
        Deactivate
      </Button>
      {dialog.about && (
        <Confirm title={`Take no new jobs of ${definition.key}?`} action="Deactivate it" danger busy={change.isPending} onClose={dialog.close} onConfirm={() => change.mutate({ path, body: { is_active: false } })}>
          <p>New jobs and triggers of this kind are refused, for all tenants. Jobs that exist run.</p>
        </Confirm>
      )}
    </>
  );
}

/** What operators have set, beside what the code says. */
function Overrides({ definition }: { definition: DefinitionShape }) {
  const session = useSession();
  const may = session.can("DELETE /admin/jobs/definitions/{definition_key}/overrides");
  const path = { definition_key: definition.key };
  const clear = useChange("DELETE /admin/jobs/definitions/{definition_key}/overrides", { said: "The code's value holds again." });
  return (
    <Panel title="Overrides">
      <div className="body">
        <p className="quiet">These settings win over the code, also when a worker starts, until they are cleared.</p>
        <table aria-label="Overrides">
          <thead>
            <tr>
              <th>Setting</th>
              <th>Set to</th>
              <th>In code</th>
              <th>By</th>
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

/** What can be left empty has no limit then; the others are always there. */
const LIMITS: readonly { key: Limit; label: string; hint?: string; least: number; whole: boolean; needed?: boolean }[] = [
  { key: "max_attempts", label: "Attempts at most", least: 1, whole: true, needed: true },
  { key: "timeout_seconds", label: "Timeout, in seconds", least: 0.001, whole: false, needed: true },
  { key: "priority", label: "Priority", hint: "Lower runs first.", least: -32768, whole: true, needed: true },
  { key: "max_running", label: "Running at once", hint: "Of all tenants together; empty: no limit.", least: 0, whole: true },
  { key: "rate_count", label: "Starts", hint: "So many in each period; empty: no limit.", least: 1, whole: true },
  { key: "rate_period_seconds", label: "in so many seconds", least: 0.001, whole: false },
  { key: "key_max_running", label: "Running at once, of one limit key", least: 0, whole: true },
  { key: "key_rate_count", label: "Starts, of one limit key", least: 1, whole: true },
  { key: "key_rate_period_seconds", label: "in so many seconds, of one limit key", least: 0.001, whole: false },
];

function Limits({ definition, may }: { definition: DefinitionShape; may: boolean }) {
  const path = { definition_key: definition.key };
  const [values, setValues] = useState(() => Object.fromEntries(LIMITS.map(({ key }) => [key, definition[key] === null ? "" : String(definition[key])])) as Record<Limit, string>);
  const [queue, setQueue] = useState(definition.queue);
  const [tag] = useState(() => etagOf(ROUTE, { path }));
  const change = useChange("PATCH /admin/jobs/definitions/{definition_key}", { said: "Its limits were changed." });
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
              <input type="number" aria-label={label} aria-describedby={hint ? `about-${key}` : undefined} min={least} step={whole ? 1 : "any"} required={needed} disabled={!may} placeholder={needed ? "" : "no limit"} value={values[key]} onChange={(event) => setValues({ ...values, [key]: event.target.value })} />
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
              Save
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
