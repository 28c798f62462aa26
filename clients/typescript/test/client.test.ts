import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { z } from "zod";

import {
  BrowserRefused,
  Conflict,
  define,
  InvalidSettings,
  JobFailed,
  LeaseLost,
  newId,
  NotFound,
  NotValid,
  Plait,
  PlaitError,
  Refused,
  SchemaMismatch,
  TimedOut,
  TooMany,
  Unreachable,
} from "../src/index.js";
import { FakeServer, problem, type Answer, type Answering } from "./server.js";

const servers: FakeServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serving(answering: Answering): Promise<{ server: FakeServer; plait: Plait }> {
  const server = await FakeServer.open(answering);
  servers.push(server);
  return { server, plait: new Plait({ url: server.url, key: "k" }) };
}

function inTurn(...answers: Answer[]): Answering {
  return () => answers.shift() ?? problem(500, "too-often");
}

const MADE: Answer = { status: 201, body: { id: newId(), deduplicated: false } };

test("an enqueue is retried with the same id, and without a generated idempotency key", async () => {
  const { server, plait } = await serving(inTurn("drop", problem(503, "not-available", { "retry-after": "0" }), MADE));
  await plait.enqueue("add", { a: 1 });
  const ids = server.asked.map(({ body }) => body.id);
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 1);
  assert.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
  assert.equal(server.asked[0]!.headers["idempotency-key"], undefined);
  assert.equal(server.asked[0]!.headers.authorization, "Bearer k");
});

test("a follower's redirect to the leader is followed once", async () => {
  const misdirected = (leader: string): Answer => ({
    status: 421,
    body: { type: "urn:plait:problem:not-leader", title: "Misdirected", status: 421, leader_url: leader },
  });
  const answers = [MADE];
  const { server: leader } = await serving(() => answers.shift() ?? misdirected("http://127.0.0.1:9"));
  const { server: follower, plait } = await serving(() => misdirected(`${leader.url}/`));
  await plait.enqueue("sync", { a: 1 });
  assert.equal(follower.asked[0]!.body.id, leader.asked[0]!.body.id);
  await assert.rejects(plait.enqueue("sync", { a: 1 }), (error) => error instanceof Refused && error.status === 421);
  // fetch itself repeats a request after a 421, on a new connection.
  assert.equal(new Set(leader.asked.map(({ body }) => body.id)).size, 2);
});

test("a retried change has the same Idempotency-Key, and the next change has a new key", async () => {
  const moved = { body: { id: "x", status: "canceled", jobs: 1 } };
  const { server, plait } = await serving(inTurn(problem(429, "too-many", { "retry-after": "0" }), moved, moved));
  await plait.cancel("x", { reason: "no" });
  await plait.cancel("x");
  const [first, again, other] = server.asked.map(({ headers }) => headers["idempotency-key"]);
  assert.ok(first);
  assert.equal(first, again);
  assert.notEqual(first, other);
});

test("the caller's idempotency key becomes the job's idempotency key", async () => {
  const { server, plait } = await serving(inTurn(MADE));
  await plait.enqueue("add", {}, { idempotencyKey: "mine" });
  assert.equal(server.asked[0]!.headers["idempotency-key"], "mine");
});

test("a permanent error is not retried, and has its own class", async () => {
  for (const [status, code, kind] of [
    [404, "not-found", NotFound],
    [409, "illegal-move", Conflict],
    [409, "lease-lost", LeaseLost],
    [422, "not-valid", NotValid],
    [500, "internal", Refused],
    [302, "moved", Refused],
  ] as const) {
    const { server, plait } = await serving(() => problem(status, code, { location: "http://127.0.0.1:1/" }));
    const error = await plait.get("x").catch((error: unknown) => error);
    assert.ok(error instanceof kind && error instanceof PlaitError, `${status}`);
    assert.equal(error.name, error.constructor.name);
    assert.deepEqual([error.status, error.code, error.message, error.requestId], [status, code, `no: ${code}`, "r1"]);
    assert.equal(server.asked.length, 1);
  }
});

test("the message lists the invalid fields of a request", async () => {
  const { plait } = await serving(() => ({
    status: 422,
    body: { type: "urn:plait:problem:not-valid", detail: "no", errors: [{ at: ["body", "x"], message: "too long" }] },
  }));
  await assert.rejects(plait.get("x"), /no; body,x: too long/);
});

test("an error page of a proxy throws Refused", async () => {
  const server = await FakeServer.open(() => ({ status: 418, body: "<html>" }));
  servers.push(server);
  await assert.rejects(
    new Plait({ url: server.url, key: "k" }).get("x"),
    (error) => error instanceof Refused && error.code === "http",
  );
});

test("after the last retry, a 429 is thrown with its Retry-After", async () => {
  const { server } = await serving(() => problem(429, "too-many", { "retry-after": "7" }));
  const plait = new Plait({ url: server.url, key: "k", retries: 0 });
  await assert.rejects(plait.get("x"), (error) => error instanceof TooMany && error.retryAfter === 7);
});

test("a refused connection throws Unreachable, and a missing response throws TimedOut", async () => {
  await assert.rejects(new Plait({ url: "http://127.0.0.1:1", key: "k", retries: 0 }).get("x"), Unreachable);
  const { server } = await serving(() => new Promise(() => undefined));
  await assert.rejects(new Plait({ url: server.url, key: "k", retries: 0, timeoutSeconds: 0.05 }).get("x"), TimedOut);
});

test("the caller's signal aborts a request and its retries", async () => {
  const { server, plait } = await serving(() => new Promise(() => undefined));
  const stop = new AbortController();
  const waiting = plait.wait("x", { signal: stop.signal });
  await server.seen("/jobs/x?wait_seconds=20");
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  assert.equal(server.asked.length, 1);
});

test("pages are loaded as they are read", async () => {
  const { server, plait } = await serving(
    inTurn({ body: { items: [{ id: "a" }, { id: "b" }], next: "b" } }, { body: { items: [{ id: "c" }], next: null } }),
  );
  const ids = [];
  for await (const job of plait.list({ status: ["failed", "dead_letter"], queue: "a b" })) {
    ids.push(job.id);
  }
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(server.paths(), [
    "GET /jobs?status=failed&status=dead_letter&queue=a+b",
    "GET /jobs?status=failed&status=dead_letter&queue=a+b&cursor=b",
  ]);
});

test("a path parameter is escaped", async () => {
  const { server, plait } = await serving(() => problem(404, "not-found"));
  await assert.rejects(plait.call("POST /queues/{name}/pause", { path: { name: "../keys?x" } }), NotFound);
  assert.deepEqual(server.paths(), ["POST /queues/..%2Fkeys%3Fx/pause"]);
  await assert.rejects(plait.get(".."), TypeError);
});

test("a result is awaited and parsed by its schema, and a failed job throws", async () => {
  const kind = define({
    key: "add",
    payload: z.object({ a: z.number() }),
    result: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
  });
  const final = (status: string, result: unknown): Answer => ({ body: { status, result, reason: null, last_error: "boom" } });
  const { plait } = await serving(
    inTurn(MADE, { body: { status: "running" } }, final("succeeded", { at: "2026-01-01T00:00:00Z" })),
  );
  const handle = await plait.enqueue(kind, { a: 1 });
  assert.deepEqual((await handle.result()).at, new Date("2026-01-01T00:00:00Z"));
  const failing = await serving(inTurn(final("dead_letter", null)));
  await assert.rejects(
    failing.plait.job("j").result(),
    (error) => error instanceof JobFailed && error.status === "dead_letter" && /boom/.test(error.message),
  );
  const slow = await serving(() => ({ body: { status: "queued" } }));
  await assert.rejects(slow.plait.job("j").result({ timeoutSeconds: 0.01 }), TimedOut);
});

test("an invalid payload is not sent, and a valid payload is sent unchanged", async () => {
  const { server, plait } = await serving(inTurn(MADE));
  const kind = define({ key: "add", payload: z.object({ a: z.number(), b: z.number().default(2) }) });
  await assert.rejects(
    plait.enqueue(kind, { a: "1" } as never),
    (error) => error instanceof SchemaMismatch && error.issues[0]!.path === "a",
  );
  assert.equal(server.asked.length, 0);
  await plait.enqueue(kind, { a: 1 });
  assert.deepEqual(server.asked[0]!.body.payload, { a: 1 });
});

test("all settings are validated at once, and the key is never shown", () => {
  assert.throws(
    () => new Plait({ url: "ftp://x", key: "a\nb", retries: -1 }),
    (error) => {
      assert.ok(error instanceof InvalidSettings);
      assert.match(error.message, /url: .*; key: .*; retries: /);
      assert.doesNotMatch(error.message, /a\nb/);
      return true;
    },
  );
  for (const url of ["http://user:secret@host", "http://host/?x=1", "host:80", ""]) {
    assert.throws(() => new Plait({ url, key: "k" }), InvalidSettings);
  }
  assert.doesNotMatch(JSON.stringify(new Plait({ url: "http://h", key: "sesame" })), /sesame/);
});

test("settings default to the environment", async () => {
  const { server } = await serving(() => ({ body: { status: "queued" } }));
  Object.assign(process.env, { PLAIT_URL: server.url + "/", PLAIT_KEY: "from-env" });
  try {
    await new Plait().get("x");
  } finally {
    delete process.env["PLAIT_URL"];
    delete process.env["PLAIT_KEY"];
  }
  assert.equal(server.asked[0]!.headers.authorization, "Bearer from-env");
});

test("the client throws in a browser, and so does the entry point for bundlers", async () => {
  const scope = globalThis as { window?: unknown; document?: unknown };
  Object.assign(scope, { window: {}, document: {} });
  try {
    assert.throws(() => new Plait({ url: "http://h", key: "k" }), BrowserRefused);
  } finally {
    delete scope.window;
    delete scope.document;
  }
  await assert.rejects(import("../src/browser.js"), { name: "BrowserRefused" });
});

test("the items of a stream arrive in order, and an interrupted stream continues after the last item", async () => {
  const event = (id: number, data: unknown): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const { server, plait } = await serving(
    inTurn(
      { text: `retry: 2000\n\n${event(1, "a")}: still here\n\n${event(2, { b: "ü" })}id: 3\nda` },
      "drop",
      { text: `${event(3, "c")}event: end\ndata: {"status":"succeeded"}\n\n` },
    ),
  );
  const got: unknown[] = [];
  for await (const item of plait.job("j").stream("tokens")) {
    got.push(item);
  }
  assert.deepEqual(got, ["a", { b: "ü" }, "c"]);
  assert.deepEqual(
    server.asked.map(({ path, headers }) => [path, headers["last-event-id"]]),
    [
      ["/jobs/j/streams/tokens", "0"],
      ["/jobs/j/streams/tokens", "2"],
      ["/jobs/j/streams/tokens", "2"],
    ],
  );
});

test("a stream that has ended is empty, and an unknown job is not found", async () => {
  const { plait } = await serving(inTurn({ status: 204 }, problem(404, "not-found")));
  const read = async (): Promise<unknown[]> => {
    const got: unknown[] = [];
    for await (const item of plait.stream("j", "tokens", { after: 7 })) {
      got.push(item);
    }
    return got;
  };
  assert.deepEqual(await read(), []);
  await assert.rejects(read(), NotFound);
});
