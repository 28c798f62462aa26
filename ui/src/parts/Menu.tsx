/** A menu that opens below a button. It closes on Escape and when the focus leaves it. */

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";
import type { IconName } from "./Icon";

interface Props {
  label: string;
  icon?: IconName;
  /** The text of the button. Default: only the icon. */
  words?: ReactNode;
  disabled?: boolean;
  children: (close: () => void) => ReactNode;
}

export function Menu({ label, icon, words, disabled, children }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => !box.current?.contains(event.target as Node) && setOpen(false);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);
  return (
    <div
      className="menu"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        box.current?.querySelector("button")?.focus();
      }}
    >
      <Button icon={icon} aria-label={words ? undefined : label} title={label} aria-expanded={open} aria-haspopup="true" disabled={disabled} onClick={() => setOpen(!open)}>
        {words}
      </Button>
      {open && (
        <div className="menu-panel" role="group" aria-label={label}>
          {children(() => setOpen(false))}
        </div>
      )}
    </div>
  );
}
