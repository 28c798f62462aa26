/** How far many things are: done, failed, running, pending, told apart by colour and in words. */

export interface Share {
  /** A status of jobs, for its colour. */
  status: string;
  count: number;
  label?: string;
}

interface Props {
  shares: readonly Share[];
  total: number;
  label: string;
  /** A line where it is enough: so many of the total. */
  needed?: number | null;
}

export function Bar({ shares, total, label, needed }: Props) {
  const words = shares.filter(({ count }) => count > 0).map(({ status, count, label }) => `${count} ${label ?? status}`);
  const done = shares.reduce((sum, { count }) => sum + count, 0);
  return (
    <div className="bar" role="img" aria-label={`${label}: ${words.join(", ") || "nothing yet"} of ${total}`} title={`${words.join(", ")} of ${total}`} data-done={done} data-total={total}>
      {shares.map(({ status, count }) =>
        count > 0 ? <span key={status} className={`share s-${status}`} style={{ width: `${(100 * count) / Math.max(total, 1)}%` }} /> : null,
      )}
      {needed ? needed < total && <span className="needed" style={{ left: `${(100 * needed) / Math.max(total, 1)}%` }} /> : null}
    </div>
  );
}
