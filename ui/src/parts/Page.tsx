import type { ReactNode } from "react";

interface Props {
  title: ReactNode;
  /** Breadcrumbs above the title. */
  above?: ReactNode;
  /** Buttons next to the title. */
  actions?: ReactNode;
  /** The page fills the window, and a part of it scrolls. */
  fill?: boolean;
  children?: ReactNode;
}

export function Page({ title, above, actions, fill, children }: Props) {
  return (
    <div className={`page ${fill ? "fill" : ""}`}>
      <header className="page-head">
        <div>
          {above && <div className="above">{above}</div>}
          <h1>{title}</h1>
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A section of a page with its own heading. */
export function Panel({ title, actions, className = "", children }: { title?: ReactNode; actions?: ReactNode; className?: string; children: ReactNode }) {
  return (
    <section className={`panel ${className}`}>
      {title && (
        <header>
          <h2>{title}</h2>
          {actions && <div className="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** A list of names and values. Entries without a value are omitted. */
export function Facts({ facts }: { facts: [label: string, value: ReactNode][] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
