// The client's methods against a real server, for tests/clients. The script prints the id of the first job, and stops at the first failure.

import assert from "node:assert/strict";

import { Conflict, JobFailed, NotFound, NotSignedIn, NotValid, Plait, newId } from "../src/index.js";

const plait = new Plait();

const first = await plait.enqueue(
  "double",
  { n: 21 },
  { priority: 0, correlationId: "c1", scheduledFor: new Date("2100-01-01T00:00:00Z") },
);
const job = await first.get();
assert.deepEqual(
  [job.status, job.payload, job.priority, job.correlation_id, job.attempt_count],
  ["scheduled", { n: 21 }, 0, "c1", 0],
);
assert.equal(job.scheduled_for, "2100-01-01T00:00:00Z");

const held = await plait.enqueue("double", { n: 1 }, { dedupeKey: "d", delaySeconds: 60 });
const again = await plait.enqueue("double", { n: 2 }, { dedupeKey: "d" });
assert.deepEqual([again.id, again.deduplicated, held.deduplicated], [held.id, true, false]);

const keyed = await plait.enqueue("double", { n: 3 }, { idempotencyKey: "i" });
assert.equal((await plait.enqueue("double", { n: 3 }, { idempotencyKey: "i" })).id, keyed.id);
await assert.rejects(plait.enqueue("double", { n: 4 }, { idempotencyKey: "i" }), Conflict);
await assert.rejects(plait.enqueue("nobody-knows", {}), NotValid);

const listed: string[] = [];
for await (const one of plait.list({ limit: 1, definition_key: "double" })) {
  listed.push(one.id);
}
assert.deepEqual(listed, [keyed.id, held.id, first.id]);

assert.equal((await plait.reschedule(first.id, { scheduled_for: "2020-01-01T00:00:00Z" })).status, "queued");
assert.ok((await plait.explain(first.id)).reasons.length > 0);
assert.equal((await plait.summary()).counts.queued, 2);
assert.equal((await first.cancel({ reason: "enough" })).status, "canceled");
await assert.rejects(first.result(), (error) => error instanceof JobFailed && error.status === "canceled");
assert.equal((await first.retry()).status, "queued");
assert.equal((await plait.attempts(first.id))[0]?.status, "canceled");
assert.equal((await plait.signal(first.id, "go", { now: true })).id, first.id);

const event = await plait.emit("folder.updated", { path: "in" });
assert.deepEqual((await plait.event(event)).data, { path: "in" });
for await (const one of plait.events({ name: "folder.updated" })) {
  assert.equal(one.id, event);
}

await assert.rejects(plait.get(newId()), NotFound);
await assert.rejects(new Plait({ key: "nobodys" }).get(first.id), NotSignedIn);
process.stdout.write(first.id + "\n");
