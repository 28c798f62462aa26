/** The current time, for computing ages. During an outage it is frozen at the time of the displayed data, so that ages stop growing. */

let frozen: number | null = null;

export const now = (): number => frozen ?? Date.now();

export function freeze(at: number | null): void {
  frozen = at;
}
