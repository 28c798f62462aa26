// A worker for tests against a real server. It writes a line to stdout for each job that it starts. Logs go to stderr.

import { define, Worker, type StandardSchema } from "../src/index.js";

const numbers: StandardSchema<{ n: number }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof (value as { n?: unknown }).n === "number"
        ? { value: value as { n: number } }
        : { issues: [{ message: "a number is needed", path: ["n"] }] },
  },
};

const worker = new Worker({
  queues: (process.env["QUEUES"] ?? "default").split(","),
  concurrency: Number(process.env["CONCURRENCY"] ?? 10),
  claimLimit: Number(process.env["CLAIM_LIMIT"] ?? process.env["CONCURRENCY"] ?? 10),
  leaseSeconds: 5,
  heartbeatSeconds: 0.25,
  waitSeconds: 2,
  graceSeconds: 5,
});
worker.handle(define({ key: "double", payload: numbers }), ({ n }, { jobId }) => {
  process.stdout.write(`began ${jobId}\n`);
  return { doubled: 2 * n, by: "node" };
});
worker.handle("stand", async (_, { jobId, signal, progress }) => {
  await progress({ standing: true });
  process.stdout.write(`began ${jobId}\n`);
  await new Promise((stop) => signal.addEventListener("abort", stop));
  throw signal.reason;
});
await worker.run();
process.exit(0);
