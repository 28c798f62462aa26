/** Modal dialogs with the browser's `<dialog>`: it traps the focus, closes on Escape and makes the page behind it inert. */

import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  title?: string;
  /** The accessible name, if there is no visible title. */
  label?: string;
  className?: string;
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ title, label, className = "", onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const own = dialog.current;
    if (own && !own.open) own.showModal();
    return () => own?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-labelledby={title ? heading : undefined}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <div className="dialog-body">
        {title && (
          <header>
            <h2 id={heading}>{title}</h2>
            <Button kind="plain" icon="close" aria-label="Close" onClick={onClose} />
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

interface Asked {
  title: string;
  children?: ReactNode;
  /** The text of the confirm button. */
  action: string;
  danger?: boolean;
  busy?: boolean;
  disabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** A confirmation before an action. */
export function Confirm({ title, children, action, danger, busy, disabled, onConfirm, onClose }: Asked) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
      >
        {children}
        <footer className="actions">
          <Button onClick={onClose}>Go back</Button>
          <Button kind={danger ? "danger" : "primary"} type="submit" busy={busy} disabled={disabled} autoFocus>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The state of a dialog. `about` is the value that it was opened with. */
export function useDialog<T = true>(): { about: T | null; open: (about: T) => void; close: () => void } {
  const [about, setAbout] = useState<T | null>(null);
  return { about, open: setAbout, close: () => setAbout(null) };
}
