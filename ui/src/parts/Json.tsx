/** A collapsible JSON viewer. Values are rendered as text only, and numbers exactly as they were written. */

import { useState } from "react";
import { Exact, stringify } from "../api/json";
import { Copy } from "./Code";
import { Icon } from "./Icon";

const AT_ONCE = 100;
const LONG = 600;
const SECRET = /pass(word|wd|phrase)?$|secret|token$|api[-_]?key|authorization|credential|private[-_]?key/i;

/** `open`: the number of levels that are expanded at first. */
export function Json({ value, label, open = 2 }: { value: unknown; label: string; open?: number }) {
  return (
    <div className="json" role="group" aria-label={label}>
      <div className="json-tools">
        <Copy text={() => stringify(value, 2)} label={`Copy ${label}`} />
      </div>
      <Node value={value} open={open} />
    </div>
  );
}

function Node({ name, value, open }: { name?: string; value: unknown; open: number }) {
  const holds = isHolder(value);
  const [shown, setShown] = useState(open > 0);
  const [count, setCount] = useState(AT_ONCE);
  const key = name !== undefined && <span className="json-key">{name}: </span>;
  if (!holds)
    return (
      <div className="json-line">
        {key}
        {name !== undefined && value !== null && SECRET.test(name) ? <Hidden value={value} /> : <Leaf value={value} />}
      </div>
    );
  const entries = Object.entries(value);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length)
    return (
      <div className="json-line">
        {key}
        {begin + end}
      </div>
    );
  return (
    <div>
      <button type="button" className="json-line plain" aria-expanded={shown} onClick={() => setShown(!shown)}>
        <Icon name={shown ? "down" : "right"} size={12} />
        {key}
        {begin}
        {!shown && <span className="quiet">{` ${entries.length} ${entries.length === 1 ? "entry" : "entries"} ${end}`}</span>}
      </button>
      {shown && (
        <>
          <div className="json-inner">
            {entries.slice(0, count).map(([key, one]) => (
              <Node key={key} name={key} value={one} open={open - 1} />
            ))}
            {count < entries.length && (
              <button type="button" className="plain link" onClick={() => setCount(count + AT_ONCE * 10)}>
                {`Show ${(entries.length - count).toLocaleString()} more`}
              </button>
            )}
          </div>
          <div className="json-line">{end}</div>
        </>
      )}
    </div>
  );
}

/** Values of fields whose names indicate a secret are hidden until the user reveals them. */
function Hidden({ value }: { value: unknown }) {
  const [shown, setShown] = useState(false);
  if (shown) return <Leaf value={value} />;
  return (
    <button type="button" className="plain link" onClick={() => setShown(true)}>
      •••••• reveal
    </button>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (value instanceof Exact) return <span className="json-number">{value.text}</span>;
  if (typeof value !== "string") return <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const text = JSON.stringify(value);
  if (whole || text.length <= LONG) return <span className="json-string">{text}</span>;
  return (
    <span className="json-string">
      {text.slice(0, LONG)}…{" "}
      <button type="button" className="plain link" onClick={() => setWhole(true)}>
        {`show all ${value.length.toLocaleString()} characters`}
      </button>
    </span>
  );
}

function isHolder(value: unknown): value is Record<string, unknown> | unknown[] {
  return typeof value === "object" && value !== null && !(value instanceof Exact);
}
