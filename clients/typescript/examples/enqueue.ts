import { JobFailed, Plait } from "plait-client";

const plait = new Plait(); // PLAIT_URL, PLAIT_KEY; or new Plait({ url, key })

const handle = await plait.enqueue("resize", { path: "a.png", width: 200 }, { priority: 50, dedupeKey: "a.png" });
try {
  console.log(await handle.result({ timeoutSeconds: 60 }));
} catch (error) {
  if (error instanceof JobFailed) {
    console.log(error.status, error.error); // dead_letter, canceled …
  }
}

for await (const job of plait.list({ status: ["dead_letter"], definition_key: "resize" })) {
  await plait.retry(job.id);
}
