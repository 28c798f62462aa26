// The Node version of protocol.py, which describes the protocol.
import { closeSync, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

export const url = process.env.BENCH_URL;
export const settings = JSON.parse(process.env.BENCH_SETTINGS ?? "{}");
const callers = 32;
const now = () => process.hrtime.bigint();

export function say(line) {
  const bytes = Buffer.from(`${line}\n`);
  for (;;) {
    try {
      writeSync(1, bytes);
      return;
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

export function tally(every = 500) {
  const latencies = process.env.BENCH_LATENCIES ? openSync(process.env.BENCH_LATENCIES, "a") : null;
  let seen = 0;
  const job = (payload) => {
    if (payload.at && latencies !== null) writeSync(latencies, `${now() - BigInt(payload.at)}\n`);
    seen += 1;
    if (seen === 1) say(`begun ${now()}`);
    if (seen % every === 0) say(`+${every}`);
    return { n: payload.n };
  };
  return { job, close: () => latencies !== null && closeSync(latencies) };
}

export async function drive(driver) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  if (process.argv[2] === "worker") {
    say("ready");
    if ((await lines.next()).done) return process.exit(0);
    const ended = lines.next();
    await driver.work(ended);
    return process.exit(0);
  }
  let opened = false;
  for await (const line of lines) {
    const order = JSON.parse(line);
    if (order.do === "setup") {
      await driver.setup();
      say("{}");
      continue;
    }
    if (!opened) await driver.open();
    opened = true;
    say(JSON.stringify(await obey(driver, order)));
  }
  if (opened) await driver.close();
  process.exit(0);
}

async function obey(driver, order) {
  if (order.do === "open") return {};
  if (order.do === "pickup") {
    for (let n = 0; n < order.n; n += 1) {
      // Nanoseconds since boot stay below 2^53 for a hundred days.
      await driver.enqueue({ n, at: Number(now()) });
      await sleep(order.pause_s * 1000);
    }
    return {};
  }
  const began = now();
  const cpu = process.cpuUsage();
  const until = began + BigInt(Math.round((order.seconds ?? 3600) * 1e9));
  const n = await { enqueue_one: oneByOne, enqueue_32: byCallers, enqueue_bulk: inBulk }[order.do](driver, order, until);
  const used = process.cpuUsage(cpu);
  return { n, seconds: Number(now() - began) / 1e9, cpu_s: (used.user + used.system) / 1e6 };
}

async function oneByOne(driver, order, until) {
  for (let n = 0; n < order.n; n += 1) {
    if (now() >= until) return n;
    await driver.enqueue({ n, at: 0 });
  }
  return order.n;
}

async function byCallers(driver, order, until) {
  let next = 0;
  let done = 0;
  const call = async () => {
    while (next < order.n && now() < until) {
      const n = next++;
      await driver.enqueue({ n, at: 0 });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return done;
}

async function inBulk(driver, order, until) {
  let done = 0;
  const more = order.sleep ? { seconds: order.sleep } : {};
  while (done < order.n && now() < until) {
    const size = Math.min(order.batch, order.n - done);
    await driver.enqueueMany(Array.from({ length: size }, (_, n) => ({ n: done + n, at: 0, ...more })));
    done += size;
  }
  return done;
}
