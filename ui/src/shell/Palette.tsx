/** The command palette: type to open a page or run an action. Pages add actions with `useCommands`. */

import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useSession, useSignOut } from "../api/session";
import { Dialog } from "../parts/Dialog";
import { Icon, type IconName } from "../parts/Icon";
import { PLACES } from "./nav";
import { setTheme } from "./theme";

export interface Command {
  label: string;
  icon?: IconName;
  act: () => void;
}

const added = new Set<{ current: Command[] }>();
const UUID = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** Add commands for as long as the component is mounted. */
export function useCommands(commands: Command[]): void {
  const own = useRef(commands);
  own.current = commands;
  useEffect(() => {
    added.add(own);
    return () => void added.delete(own);
  }, []);
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const commands = usePlaces();
  const found = useMatching(typed, commands);
  const chosen = Math.min(at, found.length - 1);
  const act = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.act();
  };
  return (
    <Dialog label="Command palette" className="palette" onClose={onClose}>
      <input
        autoFocus
        role="combobox"
        aria-label="Search commands"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length ? `palette-${chosen}` : undefined}
        placeholder="Search pages and actions, or paste a job id…"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (event.key === "Enter") act(found[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <li
            key={command.label}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onClick={() => act(command)}
          >
            <Icon name={command.icon ?? "arrow"} />
            {command.label}
          </li>
        ))}
        {!found.length && <li className="quiet">No matching commands</li>}
      </ul>
    </Dialog>
  );
}

function usePlaces(): Command[] {
  const navigate = useNavigate();
  const session = useSession();
  const signOut = useSignOut();
  return useMemo(() => {
    const places = PLACES.flatMap(({ places }) => places)
      .filter((place) => session.can(place.needs))
      .map((place) => ({ label: place.label, icon: place.icon, act: () => void navigate({ to: place.to }) }));
    return [
      ...[...added].flatMap((own) => own.current),
      ...places,
      { label: "Theme: dark", icon: "moon", act: () => setTheme("dark") },
      { label: "Theme: light", icon: "sun", act: () => setTheme("light") },
      { label: "Theme: system", icon: "system", act: () => setTheme("system") },
      { label: "Sign out", icon: "out", act: () => void signOut() },
    ];
  }, [navigate, session, signOut]);
}

function useMatching(typed: string, commands: Command[]): Command[] {
  const navigate = useNavigate();
  const wanted = typed.trim();
  if (UUID.test(wanted))
    return [
      {
        label: `Open job ${wanted}`,
        icon: "jobs",
        act: () => void navigate({ to: "/jobs/$jobId", params: { jobId: wanted } }),
      },
    ];
  const words = wanted.toLowerCase().split(/\s+/);
  return commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}
