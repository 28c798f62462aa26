// Reads the items of a job's stream as they are written. After an interruption it reconnects and continues after the last item.

import { passing, pause, type Transport } from "./transport.js";

export interface StreamOptions {
  /** Return only items after this number. */
  after?: number;
  signal?: AbortSignal;
}

const PATH = "/jobs/{job_id}/streams/{name}";

export async function* streamed<Item>(
  transport: Transport,
  id: string,
  name: string,
  { after = 0, signal }: StreamOptions,
): AsyncGenerator<Item, void, void> {
  let last = after;
  for (let failed = 0; ; failed++) {
    try {
      let told: Record<string, string> = {};
      for await (const line of transport.lines(PATH, { job_id: id, name }, { "last-event-id": String(last) }, signal)) {
        const field = /^(id|event|data): ?(.*)$/.exec(line);
        if (field) {
          told[field[1]!] = field[2]!;
        } else if (line === "" && told["data"] !== undefined) {
          const { id: number, event, data } = told;
          told = {};
          if (event === "end") {
            return;
          }
          last = Number(number ?? last);
          failed = 0;
          yield JSON.parse(data!) as Item;
        }
      }
    } catch (error) {
      if (failed >= transport.retries || signal?.aborted || !passing(error)) {
        throw error;
      }
      await pause(error, failed, signal);
    }
  }
}
