// A fake server that sends the responses that the test specifies, and records requests.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { ClaimedJob } from "../src/types.js";

export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: any;
}

/** A response: a status and a body, as JSON or as text. "drop" closes the connection instead. */
export type Answer = { status?: number; body?: unknown; text?: string; headers?: Record<string, string> } | "drop";
export type Answering = (asked: Asked) => Answer | Promise<Answer>;

export class FakeServer {
  readonly asked: Asked[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #waiting: { matches: (asked: Asked) => boolean; found: (asked: Asked) => void }[] = [];

  private constructor(private readonly answering: Answering) {}

  static async open(answering: Answering): Promise<FakeServer> {
    const made = new FakeServer(answering);
    await new Promise<void>((listening) => made.#server.listen(0, "127.0.0.1", listening));
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  paths(): string[] {
    return this.asked.map(({ method, path }) => `${method} ${path}`);
  }

  /** Wait for the nth request whose path ends with `end`. It may already have been received. */
  async seen(end: string, nth = 1): Promise<Asked> {
    const matches = (): Asked | undefined => this.asked.filter(({ path }) => path.endsWith(end))[nth - 1];
    return matches() ?? (await new Promise((found) => this.#waiting.push({ matches: () => matches() !== undefined, found })));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) {
      text += chunk;
    }
    const { method = "", url = "", headers } = request;
    const asked = { method, path: url.replace("/api/v1", ""), headers, body: text === "" ? undefined : JSON.parse(text) };
    this.asked.push(asked);
    this.#waiting = this.#waiting.filter(({ matches, found }) => !matches(asked) || void found(asked));
    const answer = await this.answering(asked);
    if (answer === "drop") {
      request.socket.destroy();
      return;
    }
    const { status = 200, body, text: plain, headers: more = {} } = answer;
    const kind = status < 400 ? "application/json" : "application/problem+json";
    response.writeHead(status, { "content-type": kind, ...more });
    response.end(plain ?? (body === undefined ? "" : JSON.stringify(body)));
  }
}

export function problem(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return {
    status,
    body: { type: `urn:plait:problem:${code}`, title: "No", status, detail: `no: ${code}`, request_id: "r1" },
    headers,
  };
}

export function claimed(number: number, more: Partial<ClaimedJob> = {}): ClaimedJob {
  return {
    id: `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`,
    attempt: 1,
    failed_attempts: 1,
    max_attempts: 5,
    tenant_id: "00000000-0000-0000-0000-000000000001",
    definition_key: "add",
    queue: "default",
    payload: { n: number },
    payload_url: null,
    timeout_seconds: null,
    correlation_id: null,
    ...more,
  };
}
