/** The order of the sub-jobs of each fan-out. The API sorts all of them, so the first row is the first of all. */

import { oneOf } from "../api/search";

/** A minus sign is the descending order: the longest first. */
export const order = oneOf("index", "-duration", "duration", "-wait", "wait", "status", "-status");
export type Order = ReturnType<(typeof order)["read"]>;

const NAMES: Record<Order, string> = {
  index: "index",
  "-duration": "run time, longest first",
  duration: "run time, shortest first",
  "-wait": "wait, longest first",
  wait: "wait, shortest first",
  status: "status, failed first",
  "-status": "status, succeeded first",
};

export const orderQuery = (chosen: Order) =>
  chosen === "index" ? {} : { sort: chosen.replace("-", "") as "duration" | "wait" | "status", descending: chosen.startsWith("-") };

/** The orders that a click on a column's head goes through. */
const CYCLE = { duration: ["-duration", "duration"], wait: ["-wait", "wait"], status: ["status", "-status"] } as const;

interface Props {
  chosen: Order;
  onChoose: (order: Order) => void;
}

export function SortHead({ by, title, right, chosen, onChoose }: Props & { by: keyof typeof CYCLE; title: string; right?: boolean }) {
  const [first, second] = CYCLE[by];
  const next = chosen === first ? second : chosen === second ? "index" : first;
  const sorted = chosen === first || chosen === second;
  return (
    <span role="columnheader" className={`td ${right ? "right" : ""}`} aria-sort={!sorted ? "none" : chosen.startsWith("-") ? "descending" : "ascending"}>
      <button type="button" className="plain sort-head" title={`Sort sub-jobs by ${NAMES[next]}`} onClick={() => onChoose(next)}>
        {title}
        {sorted && <span aria-hidden="true">{chosen.startsWith("-") ? " ↓" : " ↑"}</span>}
      </button>
    </span>
  );
}

export function SortSelect({ chosen, onChoose }: Props) {
  return (
    <label className="row quiet">
      Sort sub-jobs by
      <select value={chosen} onChange={(event) => onChoose(event.target.value as Order)}>
        {(Object.keys(NAMES) as Order[]).map((one) => (
          <option key={one} value={one}>
            {NAMES[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
