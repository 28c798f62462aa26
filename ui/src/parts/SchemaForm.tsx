/**
 * A form generated from a JSON Schema, with a field of the matching type for each property. Parts that a form can't express, and parts
 * without a schema, are edited as JSON. With `templates`, each field also accepts `{{event.a.b}}`.
 *
 *     <SchemaForm schema={definition.arg_schema} value={payload} onChange={setPayload} templates />
 */

import { useId, useRef, useState } from "react";
import { Exact, parse, stringify } from "../api/json";
import { Button } from "./Button";
import { pointerPart, type FieldErrors } from "./field-errors";
import { Tabs } from "./Tabs";

export type Schema = Record<string, unknown>;
export type Payload = Record<string, unknown>;

interface Props {
  schema: unknown;
  value: Payload;
  onChange: (value: Payload) => void;
  /** Called with an error while the input is not valid JSON, and with null when it is. The form must not be saved in between. */
  onFault: (fault: string | null) => void;
  templates?: boolean;
  /** The errors of a rejected request, shown at their fields. */
  errors?: FieldErrors;
}

export function SchemaForm({ schema, value, onChange, onFault, templates, errors = {} }: Props) {
  const [chosen, choose] = useState<"form" | "json">("form");
  const faults = useRef(new Map<string, string>());
  const report = (path: string, fault: string | null) => {
    if (fault) faults.current.set(path, fault);
    else faults.current.delete(path);
    onFault([...faults.current.values()][0] ?? null);
  };
  const root = isObject(schema) && isObject(schema["properties"]) ? (schema as Schema) : null;
  const way = root ? chosen : "json";
  return (
    <Tabs
      label="Edit as"
      chosen={way}
      onChoose={(next) => {
        faults.current.clear();
        onFault(null);
        choose(next);
      }}
      tabs={[
        { key: "form", label: "Form", hidden: !root },
        { key: "json", label: "JSON" },
      ]}
    >
      {way === "form" && root ? (
        <Properties schema={root} root={root} value={value} onChange={onChange} templates={templates ?? false} path="" report={report} errors={errors} />
      ) : (
        <JsonField label="Payload" value={value} rows={10} wrong={below(errors, "")} onFault={onFault} onChange={(next) => (isObject(next) ? onChange(next) : onFault("Must be a JSON object."))} />
      )}
    </Tabs>
  );
}

interface Inner {
  schema: Schema;
  root: Schema;
  templates: boolean;
  path: string;
  /** Called with an error while the input at a path is not valid JSON, and with null when it is. */
  report: (path: string, fault: string | null) => void;
  errors: FieldErrors;
}

/** The error at a path, and those inside its value, as one text. */
function below(errors: FieldErrors, path: string): string | undefined {
  const found = Object.entries(errors).filter(([at]) => at === path || at.startsWith(`${path}/`));
  return found.map(([at, message]) => (at === path ? message : `${at.slice(path.length + 1).replaceAll("/", ".")}: ${message}`)).join("; ") || undefined;
}

function Properties({ schema, root, value, onChange, templates, path, report, errors }: Inner & { value: Payload; onChange: (value: Payload) => void }) {
  const properties = schema["properties"] as Record<string, unknown>;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  // In the order of the code, otherwise required fields first: a schema from the database has no order of its own.
  const order = Array.isArray(schema["x-order"]) ? schema["x-order"] : null;
  const entries = Object.entries(properties).sort(([a], [b]) => (order ? order.indexOf(a) - order.indexOf(b) : Number(required.includes(b)) - Number(required.includes(a))));
  const others = Object.keys(value).filter((key) => !(key in properties));
  const set = (key: string, next: unknown) => {
    const { [key]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [key]: next });
  };
  return (
    <div className="fields">
      {entries.map(([key, one]) => (
        <Property key={key} name={key} required={required.includes(key)} schema={resolved(one, root)} root={root} templates={templates} path={`${path}/${pointerPart(key)}`} report={report} errors={errors} value={value[key]} onChange={(next) => set(key, next)} />
      ))}
      {others.map((key) => (
        <div key={key} className="row">
          <JsonField label={key} value={value[key]} rows={1} wrong={below(errors, `${path}/${pointerPart(key)}`)} onChange={(next) => set(key, next)} onFault={(fault) => report(`${path}/${pointerPart(key)}`, fault)} />
          <Button
            icon="trash"
            aria-label={`Remove ${key}`}
            onClick={() => {
              report(`${path}/${pointerPart(key)}`, null);
              set(key, undefined);
            }}
          />
        </div>
      ))}
    </div>
  );
}

interface PropertyProps extends Inner {
  name: string;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Property({ name, required, schema, root, templates, path, report, errors, value, onChange }: PropertyProps) {
  const id = useId();
  const kind = kindOf(schema, root["x-derived"] === true);
  const wrong = errors[path];
  const about = [schema["description"], boundsOf(schema)].filter((one) => typeof one === "string" && one).join("; ");
  const label = (
    <span>
      {typeof schema["title"] === "string" && schema["title"].toLowerCase() !== name.replaceAll("_", " ") ? schema["title"] : name}
      {required && (
        <span className="bad" title="Required">
          {" *"}
        </span>
      )}
    </span>
  );
  const described = about || wrong ? `${id}-about` : undefined;
  const hint = described && (
    <span id={described} className="hints">
      {about && <small className="quiet">{about}</small>}
      {wrong && (
        <small role="alert" className="bad">
          {wrong}
        </small>
      )}
    </span>
  );
  const common = { required: required && value === undefined, "aria-label": name, "aria-describedby": described, "aria-invalid": wrong ? true : undefined, name: path };
  if (kind === "object" && isObject(schema["properties"]))
    return (
      <fieldset className="nested">
        <legend>{label}</legend>
        {hint}
        <Properties schema={schema} root={root} templates={templates} path={path} report={report} errors={errors} value={isObject(value) ? value : {}} onChange={(next) => onChange(Object.keys(next).length || required ? next : undefined)} />
      </fieldset>
    );
  if (kind === "enum" && !(templates && isTemplate(value))) {
    const values = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [schema["const"]];
    return (
      <label className="field">
        {label}
        <select {...common} value={value === undefined ? "" : stringify(value)} onChange={(event) => onChange(event.target.value === "" ? undefined : parse(event.target.value))}>
          <option value="">{defaultWords(schema)}</option>
          {values.map((one) => (
            <option key={stringify(one)} value={stringify(one)}>
              {typeof one === "string" ? one : stringify(one)}
            </option>
          ))}
        </select>
        {hint}
      </label>
    );
  }
  if (kind === "boolean" && !(templates && isTemplate(value)))
    return (
      <label className="field">
        {label}
        <select {...common} value={value === undefined ? "" : String(value)} onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value === "true")}>
          <option value="">{defaultWords(schema)}</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
        {hint}
      </label>
    );
  if (kind === "number" || kind === "integer")
    return (
      <label className="field">
        {label}
        <NumberField value={value} integer={kind === "integer"} templates={templates} common={common} placeholder={defaultWords(schema)} onChange={onChange} />
        {hint}
      </label>
    );
  if (kind === "string")
    return (
      <label className="field">
        {label}
        <input
          {...common}
          type={!templates && schema["format"] === "date" ? "date" : "text"}
          maxLength={typeof schema["maxLength"] === "number" && !templates ? schema["maxLength"] : undefined}
          value={typeof value === "string" ? value : value === undefined ? "" : stringify(value)}
          placeholder={defaultWords(schema)}
          onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
        />
        {hint}
      </label>
    );
  const aboutJson = about && <small className="quiet">{about}</small>;
  return <JsonField label={label} value={value} rows={3} hint={aboutJson} placeholder={defaultWords(schema)} wrong={below(errors, path)} onChange={onChange} onFault={(fault) => report(path, fault)} />;
}

/** A number or a template. Numbers are kept as text, so that large numbers stay exact. */
function NumberField({ value, integer, templates, common, placeholder, onChange }: { value: unknown; integer: boolean; templates: boolean; common: object; placeholder: string; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(() => (value === undefined ? "" : typeof value === "string" ? value : stringify(value)));
  const good = text === "" || (integer ? /^-?\d+$/ : /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/).test(text) || (templates && isTemplate(text));
  return (
    <input
      {...common}
      inputMode="decimal"
      value={text}
      placeholder={placeholder}
      aria-invalid={!good || ("aria-invalid" in common && common["aria-invalid"] === true)}
      onChange={(event) => {
        const next = event.target.value.trim();
        setText(next);
        onChange(next === "" ? undefined : /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(next) ? parse(next) : next);
      }}
    />
  );
}

interface JsonProps {
  label: React.ReactNode;
  value: unknown;
  rows: number;
  hint?: React.ReactNode;
  placeholder?: string;
  /** The error of a rejected request. */
  wrong?: string | undefined;
  onChange: (value: unknown) => void;
  onFault: (fault: string | null) => void;
}

/** A field for any JSON. While the text is not valid, `onFault` has the error and the value is not changed. Empty means undefined. */
export function JsonField({ label, value, rows, hint, placeholder, wrong, onChange, onFault }: JsonProps) {
  const id = useId();
  const [text, setText] = useState(() => (value === undefined ? "" : stringify(value, 2)));
  const [fault, setFault] = useState<string | null>(null);
  const change = (next: string) => {
    setText(next);
    let value: unknown;
    try {
      value = next.trim() === "" ? undefined : parse(next);
    } catch (error) {
      const words = `Not valid JSON: ${(error as Error).message}`;
      setFault(words);
      onFault(words);
      return;
    }
    setFault(null);
    onFault(null);
    onChange(value);
  };
  return (
    <label className="field">
      {label}
      <textarea rows={rows} spellCheck={false} value={text} placeholder={placeholder} aria-invalid={Boolean(fault ?? wrong)} aria-describedby={(fault ?? wrong) ? id : undefined} onChange={(event) => change(event.target.value)} />
      {hint}
      {(fault ?? wrong) && (
        <small id={id} role="alert" className="bad">
          {fault ?? wrong}
        </small>
      )}
    </label>
  );
}

type Kind = "string" | "number" | "integer" | "boolean" | "object" | "enum" | "other";

/** A schema derived from annotations names the type of the argument first, then those that are converted to it. */
function kindOf(schema: Schema, derived: boolean): Kind {
  if (Array.isArray(schema["enum"]) || schema["const"] !== undefined) return "enum";
  const type = Array.isArray(schema["type"]) ? schema["type"].filter((one) => one !== "null") : [schema["type"]];
  const [only] = type;
  return (derived || type.length === 1) && typeof only === "string" && ["string", "number", "integer", "boolean", "object"].includes(only) ? (only as Kind) : "other";
}

/** Resolve references within the schema, and remove the `null` alternative of optional fields. */
function resolved(schema: unknown, root: Schema, depth = 0): Schema {
  if (!isObject(schema) || depth > 20) return {};
  const ref = schema["$ref"];
  if (typeof ref === "string" && ref.startsWith("#/")) {
    const found = ref
      .slice(2)
      .split("/")
      .reduce<unknown>((at, part) => (isObject(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined), root);
    return { ...resolved(found, root, depth + 1), ...without(schema, "$ref") };
  }
  const any = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(any)) {
    const kinds = any.filter((one) => !(isObject(one) && one["type"] === "null"));
    if (kinds.length === 1) return { ...resolved(kinds[0], root, depth + 1), ...without(schema, "anyOf", "oneOf") };
  }
  return schema;
}

const without = (schema: Schema, ...keys: string[]) => Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));

function boundsOf(schema: Schema): string {
  const hints: string[] = [];
  const bound = (key: string, words: string) => {
    const value = schema[key];
    if (typeof value === "number" || typeof value === "string" || value instanceof Exact) hints.push(`${words} ${value instanceof Exact ? value.text : value}`);
  };
  bound("minimum", "at least");
  bound("maximum", "at most");
  if (kindOf(schema, true) === "string" && !exampleOf(schema)) bound("pattern", "like");
  bound("format", "format:");
  if (exampleOf(schema)) hints.push(`such as ${exampleOf(schema)}`);
  return hints.join(", ");
}

const defaultWords = (schema: Schema) => (schema["default"] === undefined ? "" : `Default: ${stringify(schema["default"])}`);

const exampleOf = (schema: Schema) => (Array.isArray(schema["examples"]) && schema["examples"].length ? wordsOf(schema["examples"][0]) : "");

const wordsOf = (value: unknown) => (typeof value === "string" ? value : stringify(value));

export const isTemplate = (value: unknown) => typeof value === "string" && /\{\{.*\}\}/.test(value);

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}
