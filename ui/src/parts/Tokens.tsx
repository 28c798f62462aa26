/**
 * A filter of tokens such as `status:failed` and `queue:mail`, and plain text. The user types a field name or a value and selects a
 * suggestion, or types `field:value` and presses Enter.
 */

import { useId, useMemo, useRef, useState, type Ref } from "react";
import { Icon } from "./Icon";

export interface Field {
  key: string;
  /** A short description. */
  about: string;
  /** Known values, for suggestions. */
  values?: readonly string[];
  /** The field may be used more than once. */
  many?: boolean;
}

export type Token = readonly [key: string, value: string];

interface Props {
  fields: readonly Field[];
  tokens: readonly Token[];
  onChange: (tokens: Token[]) => void;
  /** The field that text without a field name is assigned to. */
  textField: string;
  placeholder?: string;
  inputRef?: Ref<HTMLInputElement>;
}

interface Suggestion {
  label: string;
  about: string;
  take: () => void;
}

export function Tokens({ fields, tokens, onChange, textField, placeholder, inputRef }: Props) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);

  const add = (key: string, value: string) => {
    const many = fields.find((field) => field.key === key)?.many;
    const kept = tokens.filter((token) => (many ? !(token[0] === key && token[1] === value) : token[0] !== key));
    onChange([...kept, [key, value]]);
    setTyped("");
    setAt(-1);
  };
  const remove = (index: number) => onChange(tokens.filter((_, other) => other !== index));
  const suggestions = useMemo(() => suggest(typed, fields, add, setTyped), [typed, fields, tokens]); // eslint-disable-line
  const enter = () => {
    const chosen = suggestions[at];
    if (chosen) return chosen.take();
    const [key, value] = split(typed, fields);
    if (key && value) add(key, value);
    else if (!key && typed.trim()) add(textField, typed.trim());
  };

  return (
    <div className="tokens" ref={box} onBlur={(event) => !box.current?.contains(event.relatedTarget) && setOpen(false)}>
      <Icon name="filter" />
      {tokens.map(([key, value], index) => (
        <span key={`${key}:${value}`} className="token" data-token={`${key}:${value}`}>
          <span className="quiet">{key}:</span>
          <span className="token-value">{value}</span>
          <button type="button" className="plain" aria-label={`Remove ${key}:${value}`} onClick={() => remove(index)}>
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        ref={inputRef}
        role="combobox"
        aria-label="Filter"
        aria-expanded={open && suggestions.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        placeholder={tokens.length ? "" : placeholder}
        value={typed}
        onFocus={() => setOpen(true)}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(-1);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, suggestions.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, -1));
          else if (event.key === "Enter") enter();
          else if (event.key === "Escape") {
            setOpen(false);
            event.currentTarget.blur();
          } else if (event.key === "Backspace" && !typed && tokens.length) remove(tokens.length - 1);
          else return;
          event.preventDefault();
        }}
      />
      {tokens.length > 0 && (
        <button type="button" className="plain" aria-label="Remove all filters" onClick={() => onChange([])}>
          <Icon name="close" />
        </button>
      )}
      {open && suggestions.length > 0 && (
        <ul id={`${id}-list`} role="listbox" aria-label="Suggestions">
          {suggestions.map((one, index) => (
            <li
              key={one.label}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              onMouseDown={(event) => {
                event.preventDefault();
                one.take();
              }}
            >
              <code>{one.label}</code>
              <span className="quiet">{one.about}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function split(typed: string, fields: readonly Field[]): [string | null, string] {
  const colon = typed.indexOf(":");
  const key = typed.slice(0, colon);
  return colon > 0 && fields.some((field) => field.key === key) ? [key, typed.slice(colon + 1).trim()] : [null, typed];
}

function suggest(typed: string, fields: readonly Field[], add: (key: string, value: string) => void, type: (text: string) => void): Suggestion[] {
  const [key, value] = split(typed, fields);
  const valueOf = (field: Field, wanted: string) =>
    (field.values ?? [])
      .filter((one) => one.toLowerCase().includes(wanted.toLowerCase()))
      .map((one) => ({ label: `${field.key}:${one}`, about: field.about, take: () => add(field.key, one) }));
  const field = fields.find((one) => one.key === key);
  if (field) return valueOf(field, value).slice(0, 12);
  const wanted = typed.trim().toLowerCase();
  const named = fields
    .filter((one) => one.key.startsWith(wanted))
    .map((one) => ({ label: `${one.key}:`, about: one.about, take: () => type(`${one.key}:`) }));
  return [...named, ...(wanted ? fields.flatMap((one) => valueOf(one, wanted)) : [])].slice(0, 14);
}
