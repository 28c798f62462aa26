import { useId, type ReactNode } from "react";

interface Props<T extends string> {
  label: string;
  tabs: readonly { key: T; label: ReactNode; hidden?: boolean }[];
  chosen: T;
  onChoose: (key: T) => void;
  children: ReactNode;
}

/** Tabs. Keep the selected tab in the URL (api/search.ts). */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: Props<T>) {
  const id = useId();
  const seen = tabs.filter((tab) => !tab.hidden);
  const step = (by: number) => {
    const next = seen[(seen.findIndex(({ key }) => key === chosen) + by + seen.length) % seen.length];
    if (!next) return;
    onChoose(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <div className="tabs">
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") step(1);
          else if (event.key === "ArrowLeft") step(-1);
        }}
      >
        {seen.map(({ key, label }) => (
          <button
            key={key}
            id={`${id}-${key}`}
            type="button"
            role="tab"
            aria-selected={key === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={key === chosen ? 0 : -1}
            onClick={() => onChoose(key)}
          >
            {label}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </div>
  );
}
