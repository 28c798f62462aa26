import { Icon } from "./Icon";
import { Time } from "./Time";

interface Pause {
  name: string;
  paused_at: string | null;
  paused_by: string | null;
  pause_reason: string | null;
}

const MOST = 5;

/** The paused queues or tenants: since when, by whom and why. */
export function Paused({ items }: { items: readonly Pause[] }) {
  if (!items.length) return null;
  return (
    <div className="notice warn" role="status">
      <Icon name="pause" />
      <ul>
        {items.slice(0, MOST).map(({ name, paused_at, paused_by, pause_reason }) => (
          <li key={name} data-paused={name}>
            <strong>{name}</strong>
            {" was paused "}
            {paused_at && <Time at={paused_at} />}
            {paused_by && ` by ${paused_by}`}
            {pause_reason && `: ${pause_reason}`}
          </li>
        ))}
        {items.length > MOST && <li>{`and ${items.length - MOST} more`}</li>}
      </ul>
    </div>
  );
}
