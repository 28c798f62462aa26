/** Dialogs to create a tenant and to change its settings and limits. */

import { useState } from "react";
import { useChange } from "../api/hooks";
import type { Tenant } from "../api/types";
import { Confirm } from "../parts/Dialog";
import { NumberField } from "../parts/Fields";

export function TenantSettings({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const [name, setName] = useState(tenant.name);
  const [zone, setZone] = useState(tenant.time_zone);
  const [weight, setWeight] = useState<number | null>(tenant.weight);
  const [running, setRunning] = useState(tenant.max_running);
  const [queued, setQueued] = useState(tenant.max_queued);
  const change = useChange("PATCH /tenants/{slug}", { success: `Settings of ${tenant.slug} saved.`, then: onClose });
  const save = () =>
    change.mutate({
      path: { slug: tenant.slug },
      body: {
        name: name.trim(),
        ...(zone === tenant.time_zone ? {} : { time_zone: zone.trim() }),
        weight: weight ?? 1,
        max_running: running,
        max_queued: queued,
      },
    });
  return (
    <Confirm title={`Settings of ${tenant.slug}`} action="Save settings" busy={change.isPending} disabled={!name.trim() || !zone.trim()} onConfirm={save} onClose={onClose}>
      <div className="fields two">
        <label className="field">
          Name
          <input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
        </label>
        <Zone value={zone} onChange={setZone} />
      </div>
      <NumberField label="Weight" value={weight} least={1} most={1000} onChange={setWeight} about="The tenant's share of the workers when several tenants have jobs waiting. A tenant with weight 2 gets twice the share of a tenant with weight 1. Default: 1." />
      <div className="fields two">
        <NumberField label="Concurrency limit" value={running} least={0} onChange={setRunning} />
        <NumberField label="Quota of unfinished jobs" value={queued} least={0} onChange={setQueued} about="Enqueueing a job fails if it would exceed the quota." />
      </div>
    </Confirm>
  );
}

export function NewTenant({ onClose }: { onClose: () => void }) {
  const [slug, setSlug] = useState("");
  const [name, setName] = useState("");
  const create = useChange("POST /tenants", { success: ({ slug }) => `Tenant ${slug} created.`, then: onClose });
  const fits = /^[a-z0-9][a-z0-9_-]{0,62}$/.test(slug);
  return (
    <Confirm title="Create tenant" action="Create tenant" busy={create.isPending} disabled={!fits} onConfirm={() => create.mutate({ body: { slug, ...(name.trim() ? { name: name.trim() } : {}) } })} onClose={onClose}>
      <label className="field">
        Slug
        <input autoFocus value={slug} maxLength={63} spellCheck={false} aria-invalid={slug !== "" && !fits} onChange={(event) => setSlug(event.target.value)} />
        <small>The permanent name of the tenant. Allowed: a-z, 0-9, _ and -.</small>
      </label>
      <label className="field">
        Name
        <input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
      </label>
    </Confirm>
  );
}

function Zone({ value, onChange }: { value: string; onChange: (zone: string) => void }) {
  const zones = typeof Intl.supportedValuesOf === "function" ? Intl.supportedValuesOf("timeZone") : [];
  return (
    <label className="field">
      Time zone
      <input value={value} maxLength={100} list="time-zones" spellCheck={false} onChange={(event) => onChange(event.target.value)} />
      <datalist id="time-zones">
        {["UTC", ...zones].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </label>
  );
}
