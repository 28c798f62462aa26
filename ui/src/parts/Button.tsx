import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** primary: the one that is meant; danger: it can't be undone; plain: no frame. */
  kind?: "normal" | "primary" | "danger" | "plain";
  icon?: IconName;
  /** Under way: it can't be pressed again. */
  busy?: boolean;
  children?: ReactNode;
}

/** A button; with an icon alone it needs an `aria-label`. */
export function Button({ kind = "normal", icon, busy, children, className = "", ...rest }: Props) {
  return (
    <button type="button" {...rest} disabled={rest.disabled || busy} aria-busy={busy} className={`button ${kind} ${className}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
