// Standard Schema, version 1: the interface that Zod, Valibot, ArkType and others implement. It is declared here, so that the package has no dependencies.

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

/** A job definition: its key, and schemas of its payload and result. */
export interface Definition<Payload = Record<string, unknown>, Parsed = Payload, Result = unknown> {
  readonly key: string;
  readonly payload?: StandardSchema<Payload, Parsed>;
  readonly result?: StandardSchema<unknown, Result>;
}

/** Declare a job definition once, for code that enqueues it and for workers. */
export function define<Payload = Record<string, unknown>, Parsed = Payload, Result = unknown>(
  definition: Definition<Payload, Parsed, Result>,
): Definition<Payload, Parsed, Result> {
  return definition;
}

/** Parse a value with its schema. Throws SchemaMismatch if it does not match. */
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
