/** The time that ages are relative to. During an outage it stands still at the time of the data, so that an age does not grow unseen. */

let frozen: number | null = null;

export const now = (): number => frozen ?? Date.now();

export function freeze(at: number | null): void {
  frozen = at;
}
