import { RetryLater, Worker } from "plait-client";
import { resize } from "./jobs.js";

const worker = new Worker({ queues: ["images", "default"], concurrency: 10 });

worker.handle(resize, async ({ path, width }, { signal, log, traceparent }) => {
  const answer = await fetch(`http://images.internal/${path}?width=${width}`, { signal, headers: { traceparent } });
  if (answer.status === 429) {
    throw new RetryLater(60, "the image server is busy");
  }
  log.info("resized", { path });
  return { bytes: (await answer.arrayBuffer()).byteLength };
});

await worker.run(); // until SIGTERM or SIGINT
process.exit();
