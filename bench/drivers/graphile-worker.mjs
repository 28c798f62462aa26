// Graphile Worker, with the preset of its performance page: a local queue and batched completions.
import { makeWorkerUtils, run, runMigrations, WorkerPreset } from "graphile-worker";
import { setTimeout as sleep } from "node:timers/promises";
import { drive, settings, tally, url } from "./protocol.mjs";

const counted = tally();
const quiet = { error: console.error, warn: () => {}, info: () => {}, debug: () => {} };
const logger = (await import("graphile-worker")).Logger;
const silent = new logger(() => (level, message) => level === "error" && quiet.error(message));

let utils;
drive({
  async setup() {
    await runMigrations({ connectionString: url, logger: silent });
  },
  async open() {
    utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: settings.client_pool, logger: silent });
  },
  async enqueue(payload) {
    await utils.addJob("noop", payload);
  },
  async enqueueMany(payloads) {
    await utils.addJobs(payloads.map((payload) => ({ identifier: "noop", payload })));
  },
  async close() {
    await utils.release();
  },
  async work(ended) {
    const runner = await run({
      preset: {
        extends: [WorkerPreset],
        worker: { connectionString: url, ...settings.preset, logger: silent },
      },
      noHandleSignals: true,
      taskList: {
        noop: async (payload) => {
          const result = counted.job(payload);
          if (payload.seconds) await sleep(payload.seconds * 1000);
          return result;
        },
      },
    });
    await ended;
    await runner.stop();
    counted.close();
  },
});
