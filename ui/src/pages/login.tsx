/** Sign in with an API key. The sign-in link that `plait dev` prints bypasses this page. */

import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useRouterState } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import { call } from "../api/client";
import { searchOf, text } from "../api/search";
import { Button } from "../parts/Button";

const params = searchOf({ next: text });

export default function Login() {
  const [{ next }] = params.use();
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const client = useQueryClient();
  const router = useRouter();

  const signIn = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await call("POST /session", { body: { key: key.trim() } });
      client.clear();
      // Redirect only to paths on this site: `//elsewhere` is another host.
      const target = /^\/(?![/\\])/.test(next) ? next : "/";
      router.history.push(target);
    } catch (refused) {
      setError((refused as Error).message);
      setBusy(false);
    }
  };

  return (
    <main className="login">
      <form onSubmit={(event) => void signIn(event)}>
        <img src="/icon.svg" alt="" width="36" height="36" />
        <h1>Sign in to plait</h1>
        <label htmlFor="key">API key</label>
        <input
          id="key"
          type="password"
          autoComplete="current-password"
          autoFocus
          required
          maxLength={200}
          value={key}
          aria-describedby="key-about"
          aria-invalid={error !== ""}
          onChange={(event) => setKey(event.target.value)}
        />
        <p id="key-about" className="quiet">
          Create an API key with <code>plait keys create NAME</code>. The browser stores a session, not the key.
        </p>
        <p role="alert" className="bad">
          {error}
        </p>
        <Button kind="primary" type="submit" busy={busy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}

/** Redirect to the sign-in page, and afterwards back to the current page. */
export function ToLogin() {
  const here = useRouterState({ select: (state) => state.location.href });
  const navigate = useNavigate();
  useEffect(() => {
    if (here.startsWith("/login")) return; // already redirected
    void navigate({ to: "/login", search: { next: here === "/" ? undefined : here } as never, replace: true });
  }, [here, navigate]);
  return null;
}
