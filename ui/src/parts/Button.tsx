import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** primary: the main action; danger: an action that stops or deletes something; plain: no frame. */
  kind?: "normal" | "primary" | "danger" | "plain";
  icon?: IconName;
  /** The action is in progress, and the button is disabled. */
  busy?: boolean;
  children?: ReactNode;
}

/** A button. With an icon and no text it needs an `aria-label`. */
export function Button({ kind = "normal", icon, busy, children, className = "", ...rest }: Props) {
  return (
    <button type="button" {...rest} disabled={rest.disabled || busy} aria-busy={busy} className={`button ${kind} ${className}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
