/**
 * A time series chart in SVG: stacked bars, or lines on a logarithmic scale. It is limited to a few hundred points, a scale, and values
 * on hover. A bucket without a value is zero (bars) or a gap (lines).
 */

import { useEffect, useId, useRef, useState, type RefObject } from "react";

export interface Series {
  label: string;
  /** A CSS color, from a variable of the theme. */
  color: string;
  /** Values by the start of the bucket, in ms. */
  values: ReadonlyMap<number, number | null>;
}

interface Props {
  label: string;
  kind: "bars" | "lines";
  from: number;
  to: number;
  /** Length of a bucket, in ms. */
  step: number;
  series: readonly Series[];
  /** Formats a value for display. */
  format: (value: number) => string;
  height?: number;
}

const LEFT = 48;
const BOTTOM = 20;
const TOP = 8;

export function Chart({ label, kind, from, to, step, series, format, height = 160 }: Props) {
  const [at, setAt] = useState<number | null>(null);
  const title = useId();
  const buckets = Array.from({ length: Math.max(1, Math.ceil((to - from) / step)) }, (_, index) => from + index * step);
  const sums = buckets.map((moment) =>
    kind === "bars"
      ? series.reduce((sum, one) => sum + (one.values.get(moment) ?? 0), 0)
      : Math.max(0, ...series.map((one) => one.values.get(moment) ?? 0)),
  );
  const scale = kind === "lines" ? logarithmic(series) : linear(Math.max(...sums, 0));
  const [box, whole] = useWidth();
  const width = (whole - LEFT) / buckets.length;
  const y = (value: number) => TOP + (height - TOP - BOTTOM) * (1 - scale.at(value));
  const shown = at === null ? null : buckets[at];
  const times = ticks(from, to);
  return (
    <figure className="chart">
      <figcaption>
        <ul className="legend">
          {series.map((one) => (
            <li key={one.label}>
              <span className="swatch" style={{ background: one.color }} aria-hidden="true" />
              {one.label}
              {shown !== null && shown !== undefined && <strong>{formatted(one.values.get(shown), format, kind)}</strong>}
            </li>
          ))}
        </ul>
        <span className="quiet">{shown ? clock(shown, to - from) : ""}</span>
      </figcaption>
      <svg
        ref={box}
        height={height}
        viewBox={`0 0 ${whole} ${height}`}
        role="img"
        aria-labelledby={title}
        onMouseLeave={() => setAt(null)}
        onMouseMove={(event) => {
          const frame = event.currentTarget.getBoundingClientRect();
          const x = event.clientX - frame.left - LEFT;
          setAt(x < 0 ? null : Math.min(buckets.length - 1, Math.floor(x / width)));
        }}
      >
        <title id={title}>{label}</title>
        {scale.ticks.map((value) => (
          <g key={value}>
            <line className="grid" x1={LEFT} x2={whole} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {times.map((moment) => (
          <text key={moment} x={LEFT + ((moment - from) / step) * width} y={height - 4} textAnchor="middle">
            {clock(moment, to - from)}
          </text>
        ))}
        {at !== null && <rect className="cursor" x={LEFT + at * width} y={TOP} width={width} height={height - TOP - BOTTOM} />}
        {kind === "bars" ? (
          buckets.map((moment, index) => {
            let below = 0;
            return series.map((one) => {
              const value = one.values.get(moment) ?? 0;
              if (!value) return null;
              const bottom = below;
              below += value;
              return (
                <rect
                  key={`${moment} ${one.label}`}
                  x={LEFT + index * width + Math.min(1, width * 0.1)}
                  width={Math.max(1, width - Math.min(2, width * 0.2))}
                  y={y(bottom + value)}
                  height={Math.max(1, y(bottom) - y(bottom + value))}
                  fill={one.color}
                />
              );
            });
          })
        ) : (
          series.map((one) => <path key={one.label} className="line" d={path(buckets, one, width, y)} stroke={one.color} />)
        )}
      </svg>
    </figure>
  );
}

/** The available width. Drawing at that size keeps the text unscaled. */
function useWidth(): [RefObject<SVGSVGElement | null>, number] {
  const box = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    if (box.current) watching.observe(box.current);
    return () => watching.disconnect();
  }, []);
  return [box, width];
}

/** A line that is interrupted at gaps. A single point is a short stroke. */
function path(buckets: number[], { values }: Series, width: number, y: (value: number) => number): string {
  let drawn = "";
  let before = false;
  buckets.forEach((moment, index) => {
    const value = values.get(moment);
    const here = value !== null && value !== undefined;
    const x = (LEFT + (index + 0.5) * width).toFixed(1);
    if (here) drawn += before ? `L${x} ${y(value).toFixed(1)}` : `M${x} ${y(value).toFixed(1)}h.01`;
    before = here;
  });
  return drawn;
}

function formatted(value: number | null | undefined, format: (value: number) => string, kind: "bars" | "lines"): string {
  return value === null || value === undefined ? (kind === "bars" ? format(0) : "–") : format(value);
}

interface Scale {
  /** The position of a value, from 0 to 1. */
  at: (value: number) => number;
  ticks: number[];
}

function linear(largest: number): Scale {
  const top = nice(largest);
  return { at: (value) => value / top, ticks: [0, top / 2, top] };
}

const ROUND = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000];

/** With ticks at round durations, so that seconds and hours fit on one chart. */
function logarithmic(series: readonly Series[]): Scale {
  const values = series.flatMap((one) => [...one.values.values()]).filter((value): value is number => typeof value === "number");
  const low = Math.max(0, ROUND.findLastIndex((round) => round <= Math.min(...values, 1)));
  const found = ROUND.findIndex((round) => round >= Math.max(...values, 1));
  const high = Math.max(low + 1, found < 0 ? ROUND.length - 1 : found);
  const [bottom, top] = [Math.log(ROUND[low]!), Math.log(ROUND[high]!)];
  const step = Math.ceil((high - low) / 4);
  return {
    at: (value) => Math.max(0, Math.min(1, (Math.log(Math.max(value, 1e-9)) - bottom) / (top - bottom))),
    ticks: ROUND.filter((_, index) => index >= low && index <= high && (index - low) % step === 0),
  };
}

/** The next larger value of 1, 2 or 5 times a power of ten. */
function nice(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

const STEPS = [600_000, 1_800_000, 7_200_000, 21_600_000, 86_400_000];

function ticks(from: number, to: number): number[] {
  const step = STEPS.find((one) => (to - from) / one <= 8) ?? 86_400_000;
  const offset = new Date(to).getTimezoneOffset() * 60_000;
  const first = Math.ceil((from - offset) / step) * step + offset;
  const found: number[] = [];
  for (let moment = first; moment < to; moment += step) if (moment > from + step / 4) found.push(moment);
  return found;
}

function clock(moment: number, span: number): string {
  const date = new Date(moment);
  return span > 2 * 86_400_000
    ? date.toLocaleDateString(undefined, { weekday: "short", day: "numeric" })
    : date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}
