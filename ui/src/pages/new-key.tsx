/** Create an API key. The key is returned once and shown until the dialog is closed. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/client";
import { useRead, useTenant } from "../api/hooks";
import { useSession } from "../api/session";
import type { Role } from "../api/types";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Code";
import { Confirm, Dialog } from "../parts/Dialog";

const ROLES: { role: Role; about: string; everywhere?: boolean }[] = [
  { role: "viewer", about: "read one tenant" },
  { role: "operator", about: "also enqueue, cancel, retry, send events" },
  { role: "admin", about: "also manage the tenant's triggers and API keys" },
  { role: "super-admin", about: "everything, for all tenants", everywhere: true },
  { role: "worker", about: "only run jobs, for all tenants", everywhere: true },
];
const LIFETIMES = { "30": "30 days", "90": "90 days", "365": "1 year", "": "Never" } as const;

export function NewKey({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const session = useSession();
  const chosen = useTenant();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const [days, setDays] = useState<keyof typeof LIFETIMES>("90");
  const [tenant, setTenant] = useState(chosen ?? "default");
  const tenants = useRead("GET /tenants", undefined, { enabled: session.isSuper });
  const everywhere = ROLES.some((one) => one.role === role && one.everywhere);
  const make = useMutation({
    mutationFn: () =>
      call(
        "POST /keys",
        { body: { name: name.trim(), role, expires_at: days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null } },
        session.isSuper && !everywhere ? tenant : null,
      ),
    onSuccess: onMade,
  });
  if (make.data) return <CreatedKey name={make.data.name} secret={make.data.key} onClose={onClose} />;
  return (
    <Confirm title="Create API key" action="Create key" busy={make.isPending} disabled={!name.trim()} onConfirm={() => make.mutate()} onClose={onClose}>
      <label className="field">
        Name
        <input autoFocus value={name} maxLength={200} placeholder="User and purpose of the key" onChange={(event) => setName(event.target.value)} />
      </label>
      <label className="field">
        Role
        <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {ROLES.filter((one) => session.isSuper || !one.everywhere).map((one) => (
            <option key={one.role} value={one.role}>{`${one.role}: ${one.about}`}</option>
          ))}
        </select>
      </label>
      {session.isSuper && !everywhere && (
        <label className="field">
          For tenant
          <select value={tenant} onChange={(event) => setTenant(event.target.value)}>
            {(tenants.data?.items ?? [{ slug: tenant }]).map(({ slug }) => (
              <option key={slug} value={slug}>
                {slug}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className="field">
        Expires after
        <select value={days} onChange={(event) => setDays(event.target.value as keyof typeof LIFETIMES)}>
          {(["30", "90", "365", ""] as const).map((one) => (
            <option key={one} value={one}>
              {LIFETIMES[one]}
            </option>
          ))}
        </select>
      </label>
      <p role="alert" className="bad">
        {make.error?.message ?? ""}
      </p>
    </Confirm>
  );
}

function CreatedKey({ name, secret, onClose }: { name: string; secret: string; onClose: () => void }) {
  return (
    // Only the button closes this dialog: an accidental click outside would lose the key.
    <Dialog label={`API key ${name} created`} onClose={() => undefined}>
      <div className="fields">
        <h2>{`API key ${name} created`}</h2>
        <p>Copy the key now. It is not shown again: plait stores only its hash.</p>
        <div className="secret">
          <code data-secret>{secret}</code>
          <Copy text={secret} label="Copy the key" words="Copy key" />
        </div>
        <footer className="actions">
          <Button kind="primary" onClick={onClose}>
            I have saved the key
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
