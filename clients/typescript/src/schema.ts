// Standard Schema, version 1: the interface that Zod, Valibot, ArkType and others have in common. An interface only, no dependency.

import { SchemaMismatch } from "./errors.js";

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type Validated<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A kind of job: its key, and schemas for what it takes and what it returns. */
export interface Definition<Payload = Record<string, unknown>, Parsed = Payload, Result = unknown> {
  readonly key: string;
  readonly payload?: StandardSchema<Payload, Parsed>;
  readonly result?: StandardSchema<unknown, Result>;
}

/** Names a kind of job once, for those who enqueue it and those who run it. */
export function define<Payload = Record<string, unknown>, Parsed = Payload, Result = unknown>(
  definition: Definition<Payload, Parsed, Result>,
): Definition<Payload, Parsed, Result> {
  return definition;
}

/** The value as its schema reads it, or SchemaMismatch. */
export async function checked<Output>(
  what: string,
  schema: StandardSchema<unknown, Output> | undefined,
  value: unknown,
): Promise<Output> {
  if (!schema) {
    return value as Output;
  }
  const found = await schema["~standard"].validate(value);
  if (found.issues) {
    throw new SchemaMismatch(
      what,
      found.issues.map(({ message, path }) => ({ message, path: (path ?? []).map(name).join(".") })),
    );
  }
  return found.value;
}

function name(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === "object" ? part.key : part);
}
