/** A progress bar for many jobs. Colors and the label show how many are done, failed, running and pending. */

export interface Share {
  /** The job status that gives the color. */
  status: string;
  count: number;
  label?: string;
}

interface Props {
  shares: readonly Share[];
  total: number;
  label: string;
  /** The number of successes needed, drawn as a line. */
  needed?: number | null;
}

export function Bar({ shares, total, label, needed }: Props) {
  const words = shares.filter(({ count }) => count > 0).map(({ status, count, label }) => `${count} ${label ?? status}`);
  const done = shares.reduce((sum, { count }) => sum + count, 0);
  return (
    <div className="bar" role="img" aria-label={`${label}: ${words.join(", ") || "none"} of ${total}`} title={`${words.join(", ")} of ${total}`} data-done={done} data-total={total}>
      {shares.map(({ status, count }) =>
        count > 0 ? <span key={status} className={`share s-${status}`} style={{ width: `${(100 * count) / Math.max(total, 1)}%` }} /> : null,
      )}
      {needed ? needed < total && <span className="needed" style={{ left: `${(100 * needed) / Math.max(total, 1)}%` }} /> : null}
    </div>
  );
}
