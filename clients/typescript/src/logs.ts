// Structured logs: one JSON object per line, with the same field names as plait's workers.

export type Level = "debug" | "info" | "warning" | "error";
export type Fields = Readonly<Record<string, unknown>>;
export type Sink = (level: Level, event: string, fields: Fields) => void;

/** Write each entry to standard error as one line. */
export const toStderr: Sink = (level, event, fields) => {
  process.stderr.write(line(level, event, fields) + "\n");
};

export function line(level: Level, event: string, fields: Fields): string {
  const head = { timestamp: new Date().toISOString(), level, event };
  try {
    return JSON.stringify({ ...fields, ...head });
  } catch {
    return JSON.stringify({ ...head, fields: "not serializable as JSON" });
  }
}

export class Logger {
  constructor(
    readonly sink: Sink,
    readonly fields: Fields,
  ) {}

  with(fields: Fields): Logger {
    return new Logger(this.sink, { ...this.fields, ...fields });
  }

  debug(event: string, fields: Fields = {}): void {
    this.#write("debug", event, fields);
  }

  info(event: string, fields: Fields = {}): void {
    this.#write("info", event, fields);
  }

  warning(event: string, fields: Fields = {}): void {
    this.#write("warning", event, fields);
  }

  error(event: string, fields: Fields = {}): void {
    this.#write("error", event, fields);
  }

  #write(level: Level, event: string, fields: Fields): void {
    try {
      this.sink(level, event, { ...this.fields, ...fields });
    } catch {
      // A failing log sink must not stop the worker (T44).
    }
  }
}
