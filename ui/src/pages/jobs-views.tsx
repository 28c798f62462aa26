/** Saved views: named filters, stored in this browser. */

import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { parseSearch, stringifySearch } from "../api/search";
import { Button } from "../parts/Button";
import { Menu } from "../parts/Menu";

const KEY = "plait.views";

type Views = Record<string, string>;

const OURS: Views = {
  "Running": "?status=running",
  "Failed in the last 24 h": "?status=failed&status=dead_letter&after=24h",
  "Scheduled": "?status=scheduled",
  Workflows: "?sub-jobs=yes",
};

export function SavedViews() {
  const [views, setViews] = useState(read);
  const [name, setName] = useState("");
  const here = useRouterState({ select: (state) => stringifySearch({ ...state.location.search, tenant: undefined } as Record<string, unknown>) });
  const keep = (next: Views) => {
    setViews(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // If storage is blocked, the views last until the page is closed.
    }
  };
  return (
    <Menu label="Saved views" icon="star" words="Views">
      {(close) => (
        <>
          {Object.entries(OURS).map(([label, search]) => (
            <View key={label} label={label} search={search} onOpen={close} />
          ))}
          {Object.keys(views).length > 0 && <h3>Your views</h3>}
          {Object.entries(views).map(([label, search]) => (
            <div key={label} className="item-line">
              <View label={label} search={search} onOpen={close} />
              <Button
                kind="plain"
                icon="close"
                aria-label={`Delete view ${label}`}
                onClick={() => keep(Object.fromEntries(Object.entries(views).filter(([other]) => other !== label)))}
              />
            </div>
          ))}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (!name.trim()) return;
              keep({ ...views, [name.trim()]: here });
              setName("");
            }}
          >
            <input aria-label="View name" placeholder="Name for this view" maxLength={60} value={name} onChange={(event) => setName(event.target.value)} />
            <Button type="submit">Save view</Button>
          </form>
        </>
      )}
    </Menu>
  );
}

function View({ label, search, onOpen }: { label: string; search: string; onOpen: () => void }) {
  return (
    <Link className="item" to="/jobs" search={parseSearch(search) as never} onClick={onOpen}>
      {label}
    </Link>
  );
}

function read(): Views {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return Object.fromEntries(Object.entries(found as Views).filter(([, search]) => typeof search === "string"));
  } catch {
    return {};
  }
}
