/** Dialogs are the browser's own: focus stays inside, Escape closes, and what is behind can't be reached. */

import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  title?: string;
  /** Instead of a title that is seen. */
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
  /** What the button says that does it. */
  action: string;
  danger?: boolean;
  busy?: boolean;
  disabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Ask before something is done that many would regret. */
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
          <Button onClick={onClose}>Keep as it is</Button>
          <Button kind={danger ? "danger" : "primary"} type="submit" busy={busy} disabled={disabled} autoFocus>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A dialog's being open, as a pair. `open` may carry what it is about. */
export function useDialog<T = true>(): { about: T | null; open: (about: T) => void; close: () => void } {
  const [about, setAbout] = useState<T | null>(null);
  return { about, open: setAbout, close: () => setAbout(null) };
}
