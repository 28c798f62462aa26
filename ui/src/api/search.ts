/**
 * A page keeps its state in its URL. Each page declares its query parameters and reads them with their types.
 *
 *     const params = searchOf({ status: list, q: text, tab: oneOf("tree", "timeline") });
 *     const [search, setSearch] = params.use();     // search.status: string[], search.q: string, search.tab: "tree" | "timeline"
 *     setSearch({ q: "mail" });                     // other parameters stay; with { replace: true } as second argument no history entry is added
 *     <Link to="/jobs" search={params.link({ status: ["failed"] })}>
 */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

export type Raw = Record<string, string | string[] | undefined>;

interface Kind<T> {
  read(raw: string | string[] | undefined): T;
  write(value: T): string | string[] | undefined;
}

export const text: Kind<string> = {
  read: (raw) => (Array.isArray(raw) ? raw[0] : raw) ?? "",
  write: (value) => value || undefined,
};
export const list: Kind<string[]> = {
  read: (raw) => (raw === undefined ? [] : Array.isArray(raw) ? raw : [raw]),
  write: (value) => (value.length ? value : undefined),
};
export const flag: Kind<boolean> = { read: (raw) => raw === "1", write: (value) => (value ? "1" : undefined) };
export const number: Kind<number | null> = {
  read: (raw) => (typeof raw === "string" && /^-?\d+$/.test(raw) ? Number(raw) : null),
  write: (value) => (value === null ? undefined : String(value)),
};
/** The first value is the default. It also replaces unknown values. */
export function oneOf<const T extends string>(...values: [T, ...T[]]): Kind<T> {
  return {
    read: (raw) => values.find((value) => value === raw) ?? values[0],
    write: (value) => (value === values[0] ? undefined : value),
  };
}

export function searchOf<const S extends Record<string, Kind<any>>>(shape: S) {
  type Values = { [K in keyof S]: S[K] extends Kind<infer T> ? T : never };
  const names = Object.keys(shape) as (keyof S & string)[];
  const read = (raw: Raw): Values => Object.fromEntries(names.map((name) => [name, shape[name]!.read(raw[name])])) as Values;
  const write = (values: Partial<Values>): Raw =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shape[name]!.write(value)]));
  return {
    link: write,
    use(): [Values, (change: Partial<Values>, how?: { replace?: boolean }) => void] {
      const raw = useSearch({ strict: false }) as Raw;
      const navigate = useNavigate();
      const values = useMemo(() => read(raw), [raw]);
      const set = useCallback(
        (change: Partial<Values>, how: { replace?: boolean } = {}) =>
          void navigate({ to: ".", search: (old: Raw) => ({ ...old, ...write(change) }), replace: how.replace ?? false }),
        [navigate],
      );
      return [values, set];
    },
  };
}

/** Parse `?status=failed&status=canceled`: values are text, and a repeated parameter is a list. */
export function parseSearch(text: string): Raw {
  const found: Raw = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const old = found[key];
    found[key] = old === undefined ? value : Array.isArray(old) ? [...old, value] : [old, value];
  }
  return found;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(search))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) query.append(key, String(one));
  const text = query.toString();
  return text ? `?${text}` : "";
}
