/** Line icons. They are always next to a text or a label, so they are hidden from screen readers. */

const PATHS = {
  overview: "M3 3h6v8H3zM11 3h6v5h-6zM11 10h6v7h-6zM3 13h6v4H3z",
  jobs: "M3 5h14M3 10h14M3 15h9",
  dead: "M5 4h10l2 8v4H3v-4zM3 12h4l1 2h4l1-2h4",
  triggers: "M11 2 4 11h5l-1 7 8-10h-5z",
  events: "M10 4a6 6 0 0 1 6 6M10 8a2 2 0 0 1 2 2M4 10a6 6 0 0 0 6 6M8 10a2 2 0 0 0 2 2",
  definitions: "M7 4 3 10l4 6M13 4l4 6-4 6",
  queues: "M3 4h14v3H3zM3 9h14v3H3zM3 14h14v3H3z",
  workers: "M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01",
  tenants: "M3 17V6l5-3v14M8 8l9 3v6M11 13.5v.01M14 14.5v.01M2 17h16",
  keys: "M12.5 3a4.5 4.5 0 1 0 2 8.5M9.5 9.5 3 16v1h3v-2h2v-2l2-2",
  audit: "M5 2h7l3 3v13H5zM8 9h5M8 12h5M8 15h3",
  search: "M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.5 13.5 17 17",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.5 8 14.5 16 6",
  alert: "M10 3 2 17h16zM10 8v4M10 14.5v.01",
  arrow: "M4 10h12M11 5l5 5-5 5",
  down: "M5 7.5 10 12.5 15 7.5",
  right: "M7.5 5 12.5 10 7.5 15",
  left: "M12.5 5 7.5 10 12.5 15",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M16 4l-1.4 1.4M5.4 14.6 4 16",
  moon: "M16.5 12.5A7 7 0 0 1 7.5 3.5a7 7 0 1 0 9 9z",
  system: "M3 4h14v9H3zM7 17h6M10 13v4",
  keyboard: "M2 5h16v10H2zM5 8h.01M8 8h.01M11 8h.01M14 8h.01M6 12h8",
  out: "M8 3H3v14h5M12 6l4 4-4 4M16 10H7",
  copy: "M7 7h10v10H7zM3 13V3h10",
  retry: "M16 10a6 6 0 1 1-2-4.5M16 2v4h-4",
  cancel: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM5 5l10 10",
  plus: "M10 4v12M4 10h12",
  pause: "M7 4v12M13 4v12",
  play: "M6 4l10 6-10 6z",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  filter: "M3 4h14l-5.5 7v5l-3-1.5V11z",
  columns: "M3 4h14v12H3zM8 4v12M13 4v12",
  star: "M10 3l2.2 4.6 5 .7-3.6 3.5.9 5L10 14.4 5.5 16.8l.9-5L2.8 8.3l5-.7z",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2",
  tree: "M4 4h5v4H4zM11 12h5v4h-5zM6.5 8v6H11",
  edit: "M3 17l1-4L14 3l3 3L7 16z",
  trash: "M4 6h12M8 6V3h4v3M5.5 6l1 11h7l1-11",
  pin: "M10 12v6M6 3h8l-1 5 3 3v1H4v-1l3-3z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
