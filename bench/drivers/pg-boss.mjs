// pg-boss: fetches and completes whole batches, without a pause while batches are full.
import { PgBoss } from "pg-boss";
import { setTimeout as sleep } from "node:timers/promises";
import { drive, settings, tally, url } from "./protocol.mjs";

const counted = tally();

function newBoss(options) {
  const boss = new PgBoss({ connectionString: url, schedule: false, ...settings.boss, ...options });
  boss.on("error", (error) => console.error(error));
  return boss;
}

let client;
drive({
  async setup() {
    const boss = newBoss({ supervise: false });
    await boss.start();
    await boss.createQueue("noop", settings.queue);
    await boss.stop({ graceful: false });
  },
  async open() {
    client = newBoss({ supervise: false, max: settings.client_pool });
    await client.start();
  },
  async enqueue(payload) {
    await client.send("noop", payload);
  },
  async enqueueMany(payloads) {
    await client.insert("noop", payloads.map((data) => ({ data })));
  },
  async close() {
    await client.stop({ graceful: false });
  },
  async work(ended) {
    const boss = newBoss({});
    await boss.start();
    await boss.work("noop", settings.work, async (jobs) => {
      for (const { data } of jobs) {
        counted.job(data);
        if (data.seconds) await sleep(data.seconds * 1000);
      }
    });
    await ended;
    await boss.stop({ graceful: false });
    counted.close();
  },
});
