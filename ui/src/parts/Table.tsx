/**
 * A virtualized table: only visible rows are rendered, so the list can have any length. Columns are grid tracks, which keeps head and rows
 * aligned.
 *
 *     <Table label="Jobs" columns={columns} rows={rows} keyOf={(job) => job.id} onOpen={open} onEnd={fetchNextPage} />
 *
 * Memoize `columns` (`useMemo`), so that unchanged rows are not rendered again. The keys j and k move between rows, Enter opens a row, and x
 * selects it. The cell that names the row should contain a link, so that a middle click works too.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useMemo, useRef, useState, type CSSProperties, type MouseEvent, type ReactNode, type RefObject } from "react";
import { useKeys } from "../shell/keys";

export interface Column<Row> {
  key: string;
  title: ReactNode;
  /** A grid track with a minimum width in px: "120px", "minmax(160px, 2fr)". */
  width: string;
  align?: "right";
  cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Called near the end of the list, to load more. */
  onEnd?: () => void;
  onOpen?: (row: Row) => void;
  /** Keys of the selected rows. If undefined, the table has no checkboxes. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: Set<string>) => void;
  /** Content below the last row. */
  foot?: ReactNode;
  rowHeight?: number;
  /** Maximum height in px. Default: the table fills its container. */
  maxHeight?: number;
  isActive?: (row: Row) => boolean;
}

export function Table<Row>(props: Props<Row>) {
  const { label, columns, rows, keyOf, onEnd, onOpen, selected, onSelect, foot, rowHeight = 36, maxHeight, isActive } = props;
  const box = useRef<HTMLDivElement>(null);
  const last = useRef<string | null>(null);
  const [at, setAt] = useState(-1);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    // Keep the function stable while the rows are the same: a new function makes the virtualizer measure all rows again.
    getItemKey: useCallback((index: number) => (rows[index] === undefined ? index : keyOf(rows[index])), [rows, keyOf]),
  });
  const seen = virtual.getVirtualItems();
  const lastSeen = seen.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd && rows.length && lastSeen >= rows.length - 30) onEnd();
  }, [lastSeen, rows.length, onEnd]);

  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(next);
    virtual.scrollToIndex(next);
  };
  const toggle = (key: string, whole: boolean) => {
    if (!selected || !onSelect) return;
    const next = new Set(selected);
    const on = !selected.has(key);
    const keys = whole && last.current ? between(rows.map(keyOf), last.current, key) : [key];
    for (const one of keys) on ? next.add(one) : next.delete(one);
    last.current = key;
    onSelect(next);
  };
  useKeys(label, {
    j: ["Next row", () => move(1)],
    k: ["Previous row", () => move(-1)],
    ...(onOpen ? { Enter: ["Open row", () => rows[at] && onOpen(rows[at])] as const } : {}),
    ...(onSelect ? { x: ["Select row", () => rows[at] && toggle(keyOf(rows[at]), false)] as const } : {}),
  });

  const widths = [...(onSelect ? ["36px"] : []), ...columns.map(({ width }) => width)].join(" ");
  // All rows share one minimum width, otherwise their columns would not line up.
  const tracks = useMemo(() => ({ gridTemplateColumns: widths, minWidth: widths.split(/ (?![^(]*\))/).reduce((sum, width) => sum + least(width), 0) }), [widths]);
  const all = rows.length > 0 && rows.every((row) => selected?.has(keyOf(row)));
  const handlers = useRef({ press: (_: Row, __: number, ___: MouseEvent) => {}, toggle });
  handlers.current = {
    toggle,
    press: (row, index, event) => {
      setAt(index);
      if (onOpen && !(event.target as HTMLElement).closest("a, button, input, label") && !getSelection()?.toString()) onOpen(row);
    },
  };
  return (
    <div
      className={`table ${maxHeight ? "bounded" : ""}`}
      ref={box}
      style={maxHeight ? { maxHeight } : undefined}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div role="rowgroup" className="table-head">
        <div role="row" className="tr" style={tracks} aria-rowindex={1}>
          {onSelect && (
            <span role="columnheader" className="td pick">
              <input
                type="checkbox"
                aria-label="Select all loaded rows"
                checked={all}
                onChange={() => onSelect(all ? new Set() : new Set(rows.map(keyOf)))}
              />
            </span>
          )}
          {columns.map(({ key, title, align }) => (
            <span key={key} role="columnheader" className={`td ${align ?? ""}`}>
              {title}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
        {seen.map((item) => {
          const row = rows[item.index]!;
          const key = keyOf(row);
          return (
            <MemoRow
              key={item.key}
              id={key}
              row={row}
              index={item.index}
              start={item.start}
              height={rowHeight}
              columns={columns as readonly Column<unknown>[]}
              tracks={tracks}
              picked={onSelect ? (selected?.has(key) ?? false) : undefined}
              className={`tr ${item.index === at ? "at" : ""} ${isActive?.(row) ? "active" : ""} ${onOpen ? "opens" : ""}`}
              handlers={handlers as RefObject<Handlers>}
            />
          );
        })}
      </div>
      {foot && (
        <div role="rowgroup" className="table-foot">
          <div role="row">
            <span role="cell">{foot}</span>
          </div>
        </div>
      )}
    </div>
  );
}

interface Handlers {
  press: (row: unknown, index: number, event: MouseEvent) => void;
  toggle: (key: string, whole: boolean) => void;
}

interface RowProps {
  id: string;
  row: unknown;
  index: number;
  start: number;
  height: number;
  columns: readonly Column<unknown>[];
  tracks: CSSProperties;
  /** Undefined if there are no checkboxes. */
  picked: boolean | undefined;
  className: string;
  handlers: RefObject<Handlers>;
}

/** Memoized, so that scrolling renders only the rows that come into view. */
const MemoRow = memo(function TableRow({ id, row, index, start, height, columns, tracks, picked, className, handlers }: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={picked}
      className={className}
      style={{ ...tracks, height, transform: `translateY(${start}px)` }}
      data-key={id}
      onClick={(event) => handlers.current.press(row, index, event)}
    >
      {picked !== undefined && (
        <span role="cell" className="td pick">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={picked}
            onChange={() => undefined}
            onClick={(event) => handlers.current.toggle(id, event.shiftKey)}
          />
        </span>
      )}
      {columns.map((column) => (
        <span key={column.key} role="cell" className={`td ${column.align ?? ""}`}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
});

const least = (width: string) => Number(/(\d+)px/.exec(width)?.[1] ?? 0);

function between(keys: string[], first: string, second: string): string[] {
  const [from, to] = [keys.indexOf(first), keys.indexOf(second)].sort((a, b) => a - b) as [number, number];
  return from < 0 ? [second] : keys.slice(from, to + 1);
}
