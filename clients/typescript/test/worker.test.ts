import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, test } from "node:test";

import { z } from "zod";

import {
  define,
  NotAllowed,
  PermanentError,
  RetryLater,
  Skip,
  Snooze,
  Stopped,
  Worker,
  type Handler,
  type WorkerOptions,
} from "../src/index.js";
import { line } from "../src/logs.js";
import type { ClaimedJob } from "../src/types.js";
import { claimed, FakeServer, problem, type Answer, type Asked } from "./server.js";

interface Entry {
  event: string;
  [field: string]: unknown;
}

const open: { server: FakeServer; worker: Worker }[] = [];
afterEach(async () => {
  for (const { server, worker } of open.splice(0)) {
    worker.stop();
    worker.stop();
    await server.close();
  }
});

/** A worker, and a server that returns these batches of jobs. `answering` may override its responses. */
async function working(
  batches: ClaimedJob[][],
  handler: Handler,
  options: WorkerOptions = {},
  answering: (asked: Asked) => Answer | Promise<Answer | undefined> | undefined = () => undefined,
): Promise<{ server: FakeServer; worker: Worker; logs: Entry[] }> {
  const server = await FakeServer.open(async (asked) => {
    const own = await answering(asked);
    if (own) {
      return own;
    }
    if (asked.path === "/worker/jobs/claim") {
      const jobs = batches.shift();
      return jobs ? { body: { worker: 7, jobs } } : new Promise(() => undefined);
    }
    return { body: asked.path.endsWith("/heartbeat") ? { cancel: [], gone: [] } : {} };
  });
  const logs: Entry[] = [];
  const log = (_: unknown, event: string, fields: object): void => void logs.push({ event, ...fields });
  const worker = new Worker({
    url: server.url,
    key: "k",
    log,
    leaseSeconds: 5,
    heartbeatSeconds: 0.05,
    graceSeconds: 0.1,
    ...options,
  });
  worker.handle("add", handler);
  open.push({ server, worker });
  return { server, worker, logs };
}

const untilStopped: Handler = async (_, { signal }) => {
  await once(signal, "abort");
  throw signal.reason;
};

test("each result or error of a handler is reported as its outcome", async () => {
  const ways: [Handler, string, object][] = [
    [() => 3, "complete", { result: 3 }],
    [() => undefined, "complete", { result: null }],
    [
      () => {
        throw new PermanentError("never");
      },
      "fail",
      { error: "PermanentError: never", permanent: true },
    ],
    [
      () => {
        throw new RetryLater(5, "busy");
      },
      "fail",
      { error: "RetryLater: busy", delay_seconds: 5 },
    ],
    [
      () => {
        throw new Snooze(60);
      },
      "release",
      { delay_seconds: 60 },
    ],
    [
      () => {
        throw new Skip("nothing");
      },
      "skip",
      { reason: "nothing" },
    ],
    [
      () => {
        throw "text";
      },
      "fail",
      { error: "text", permanent: false },
    ],
    [
      () => {
        throw {
          toString() {
            throw new Error("worse");
          },
        };
      },
      "fail",
      { error: "the handler threw a value that can't be shown" },
    ],
    [() => 1n, "fail", { reason: "not_serializable", permanent: true }],
    [
      () => {
        throw new Error("half \ud83d");
      },
      "fail",
      { error: "Error: half \ufffd" },
    ],
  ];
  for (const [handler, verb, expected] of ways) {
    const { server, worker } = await working([[claimed(1)]], handler);
    const run = worker.run({ signals: false });
    const { path, body } = await server.seen(`/${verb}`);
    worker.stop();
    await run;
    assert.equal(path, `/worker/jobs/${claimed(1).id}/${verb}`);
    assert.deepEqual({ worker: body.worker, attempt: body.attempt }, { worker: 7, attempt: 1 });
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, body[name]])), expected);
    assert.equal(server.paths().at(-1), "POST /worker/leave");
  }
});

test("a payload is parsed by its schema, and an invalid payload fails the job permanently", async () => {
  const seen: unknown[] = [];
  const kind = define({ key: "dated", payload: z.object({ n: z.number(), m: z.number().default(9) }) });
  const jobs = [claimed(1, { definition_key: "dated" }), claimed(2, { definition_key: "dated", payload: {} })];
  const { server, worker } = await working([jobs], () => 0);
  worker.handle(kind, ({ n, m }) => void seen.push([n, m]));
  const run = worker.run({ signals: false });
  assert.equal((await server.seen("/fail")).body.reason, "schema_mismatch");
  await server.seen("/complete");
  worker.stop();
  await run;
  assert.deepEqual(seen, [[1, 9]]);
});

test("a cancellation aborts the handler's signal", async () => {
  const job = claimed(1);
  const beat = { body: { cancel: [job.id], gone: [] } };
  const { server, worker } = await working([[job]], untilStopped, {}, ({ path }) =>
    path.endsWith("/heartbeat") ? beat : undefined,
  );
  const run = worker.run({ signals: false });
  const { body } = await server.seen("/fail");
  assert.deepEqual([body.reason, body.error], ["canceled", "Stopped: the job was canceled"]);
  worker.stop();
  await run;
});

test("a timeout stops the handler, and if the handler ignores it, its slot is freed", async () => {
  const { server, worker } = await working(
    [[claimed(1, { timeout_seconds: 0.01 })], [claimed(2)]],
    ({ n }) => (n === 1 ? new Promise(() => undefined) : 2),
    { concurrency: 1 },
  );
  const run = worker.run({ signals: false });
  assert.equal((await server.seen("/fail")).body.timeout, true);
  await server.seen("/complete");
  worker.stop();
  await run;
});

test("T34 a lost lease stops the handler and nothing is reported", async () => {
  const job = claimed(1);
  const whys: string[] = [];
  for (const lost of [{ body: { cancel: [], gone: [job.id] } }, problem(409, "worker-lost")]) {
    let claims = 0;
    let tell = (): void => undefined;
    const told = new Promise<void>((resolve) => (tell = resolve));
    const { server, worker, logs } = await working(
      [[job], [claimed(2)]],
      async ({ n }, { signal }) => {
        if (n === 1) {
          await once(signal, "abort");
          whys.push((signal.reason as Stopped).why);
        }
      },
      {},
      async ({ path, body }) => {
        const held = path.includes(job.id) || body.held?.some(({ id }: { id: string }) => id === job.id);
        if (path.endsWith("/heartbeat") && held) {
          tell();
          return lost;
        }
        if (path === "/worker/jobs/claim" && ++claims > 1) {
          await told; // otherwise the second job may already be claimed, and would be lost with its worker
        }
        return undefined;
      },
    );
    const run = worker.run({ signals: false });
    await server.seen("/claim", 2);
    await server.seen(`/${claimed(2).id}/complete`);
    worker.stop();
    await run;
    assert.deepEqual(
      server.paths().filter((path) => path.includes(job.id) && !path.endsWith("/heartbeat")),
      [],
    );
    assert.ok(logs.some(({ event, job_id }) => event === "lease lost" && job_id === job.id));
  }
  assert.deepEqual(whys, ["lost", "lost"]);
});

test("F8 handlers stop when the server is unreachable for the length of the lease", async () => {
  let cut = false;
  const { server, worker } = await working(
    [[claimed(1)]],
    async (_, { signal }) => {
      cut = true;
      await once(signal, "abort");
      assert.equal((signal.reason as Stopped).why, "lost");
      cut = false;
    },
    { leaseSeconds: 5 },
    () => (cut ? "drop" : undefined),
  );
  const run = worker.run({ signals: false });
  await server.seen("/claim", 2);
  while (cut) {
    await new Promise((turn) => setTimeout(turn, 50));
  }
  worker.stop();
  await run;
  assert.ok(!server.paths().some((path) => path.endsWith("/complete")));
});

test("an outcome is retried until the server has received it", async () => {
  const answers: Answer[] = ["drop", problem(500, "internal"), problem(503, "not-available", { "retry-after": "0" })];
  const { server, worker } = await working(
    [[claimed(1)]],
    () => 1,
    {},
    ({ path }) => (path.endsWith("/complete") ? answers.shift() : undefined),
  );
  const run = worker.run({ signals: false });
  await server.seen("/complete", 4);
  worker.stop();
  await run;
});

test("T66 a result that the server rejects fails the job", async () => {
  const { server, worker } = await working(
    [[claimed(1)]],
    () => "x",
    {},
    ({ path }) => (path.endsWith("/complete") ? problem(413, "too-large") : undefined),
  );
  const run = worker.run({ signals: false });
  const { body } = await server.seen("/fail");
  assert.deepEqual([body.reason, body.permanent], ["outcome_refused", true]);
  worker.stop();
  await run;
});

test("after a lost response to a claim, unknown jobs are released before the next claim", async () => {
  let claims = 0;
  const { server, worker } = await working([[claimed(1)]], untilStopped, { concurrency: 2 }, ({ path }) =>
    path.endsWith("/claim") && ++claims === 2 ? "drop" : undefined,
  );
  const run = worker.run({ signals: false });
  await server.seen("/claim", 3);
  const paths = server.asked.map(({ path, body }) => (path.endsWith("/heartbeat") ? body.held : path));
  const [, lost, again] = paths.flatMap((path, at) => (path === "/worker/jobs/claim" ? [at] : []));
  assert.ok(paths.slice(lost, again).some((held) => Array.isArray(held) && held.length === 1));
  worker.stop();
  await run;
});

test("a worker that starts before its server waits for it", async () => {
  let claims = 0;
  const { server, worker, logs } = await working(
    [[claimed(1)]],
    () => 1,
    {},
    ({ path }) => (path.endsWith("/claim") && ++claims <= 2 ? "drop" : undefined),
  );
  const run = worker.run({ signals: false });
  await server.seen("/complete");
  worker.stop();
  await run;
  assert.ok(logs.filter(({ event }) => event === "claim failed").length === 2);
  assert.ok(!logs.some(({ event }) => event === "worker lost"));
});

test("no heartbeat lists the held jobs while a claim is in progress", async () => {
  const { server, worker } = await working([[claimed(1)]], untilStopped, { concurrency: 2 });
  const run = worker.run({ signals: false });
  const { path, body } = await server.seen("/heartbeat", 2);
  assert.equal(body.held, undefined);
  assert.ok(path.includes(claimed(1).id));
  worker.stop();
  await run;
});

test("T42 a graceful shutdown finishes running handlers and releases jobs that have not started", async () => {
  let end: () => void = () => undefined;
  const { server, worker, logs } = await working(
    [[1, 2, 3].map((n) => claimed(n))],
    () => new Promise((ended) => (end = () => ended("done"))),
    {
      concurrency: 1,
      claimLimit: 3,
      graceSeconds: 30,
    },
  );
  const run = worker.run();
  await server.seen("/heartbeat");
  process.emit("SIGTERM");
  await server.seen("/release", 2);
  end();
  await run;
  const said = server.paths().filter((path) => !path.endsWith("/heartbeat"));
  assert.deepEqual(
    said.map((path) => path.split("/").at(-1)),
    ["claim", "release", "release", "complete", "leave"],
  );
  assert.equal(process.listenerCount("SIGTERM"), 0);
  assert.equal(logs.at(-1)!.event, "worker stopped");
});

test("T43 after the grace period the handler is asked to stop, and its job is released even if the handler does not stop", async () => {
  const { server, worker } = await working([[claimed(1)]], () => new Promise(() => undefined), { graceSeconds: 0 });
  const run = worker.run({ signals: false });
  await server.seen("/heartbeat");
  worker.stop();
  await run;
  assert.ok(server.paths().some((path) => path.endsWith("/release")));
});

test("run() throws if the key is not allowed to run jobs", async () => {
  const { worker } = await working(
    [],
    () => 1,
    {},
    () => problem(403, "not-allowed"),
  );
  await assert.rejects(worker.run({ signals: false }), NotAllowed);
});

test("logs are one JSON object per line, with the ids of the job and the trace", async () => {
  const trace = "a".repeat(32);
  const { server, worker, logs } = await working([[claimed(1, { correlation_id: trace })]], (_, context) => {
    context.log.info("mine", { text: "a\nb\u2028" });
    assert.match(context.traceparent, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  });
  const run = worker.run({ signals: false });
  await server.seen("/complete");
  worker.stop();
  await run;
  const mine = logs.find(({ event }) => event === "mine")!;
  assert.deepEqual(
    [mine["job_id"], mine["trace_id"], mine["worker_id"], mine["attempt"], mine["definition"]],
    [claimed(1).id, trace, 7, 1, "add"],
  );
  assert.ok(logs.some(({ event, duration_ms }) => event === "job succeeded" && typeof duration_ms === "number"));
  const written = line("info", "mine", mine);
  assert.equal(written.split("\n").length, 1);
  assert.equal(JSON.parse(written)["level"], "info");
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  assert.match(line("info", "e", circle), /not serializable/);
});

test("a worker's settings and handlers are validated before it runs", async () => {
  const { worker } = await working([], () => 1);
  assert.throws(() => worker.handle("add", () => 2), /already/);
  assert.throws(() => new Worker({ url: "http://h", key: "k", concurrency: 0, leaseSeconds: 1 }), /concurrency.*leaseSeconds/);
  await assert.rejects(new Worker({ url: "http://h", key: "k" }).run(), /no handlers/);
});
