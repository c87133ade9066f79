/** Line icons on a grid of 16, drawn by hand. They are decoration: the text next to one says the same. */

const PATHS = {
  home: "M2.5 7.2 8 2.8l5.5 4.4v6.3H9.8V9.8H6.2v3.7H2.5z",
  queries: "M2.5 3.5h11M2.5 8h11M2.5 12.5h6.5",
  worksheet: "M3 4.5 6.5 8 3 11.5M8.5 12H13",
  search: "M7 12.2A5.2 5.2 0 1 0 7 1.8a5.2 5.2 0 0 0 0 10.4zM10.8 10.8l3.7 3.7",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  logout: "M6 2.5H2.5v11H6M10 5l3 3-3 3M13 8H6",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  stop: "M4.5 4.5h7v7h-7z",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5",
  turning: "M14 8a6 6 0 1 1-3-5.2",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  alert: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.7M8 10.7v.3",
  ban: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.8 3.8l8.4 8.4",
  download: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  link: "M6.5 9.5l3-3M7 4.5l1.3-1.3a3.1 3.1 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.3 1.3a3.1 3.1 0 0 1-4.5-4.5L4.5 7",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  play: "M4.5 2.8v10.4L13 8z",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  chart: "M2.5 13.5h11M4 11V7.5M7 11V4M10 11V6M13 11V2.5",
  grid: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.7h11M6.5 3v10",
  compare: "M8 2v12M5.5 5H2.5v6h3M10.5 5h3v6h-3",
  eye: "M1.5 8C3 5 5.3 3.5 8 3.5S13 5 14.5 8C13 11 10.7 12.5 8 12.5S3 11 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  stream: "M1.5 5.5c2.2-2.2 4.3-2.2 6.5 0s4.3 2.2 6.5 0M1.5 10.5c2.2-2.2 4.3-2.2 6.5 0s4.3 2.2 6.5 0",
  right_small: "M6 4l4 4-4 4",
  down_small: "M4 6l4 4 4-4",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  streams: "M1.5 4.5c3.2 0 3.2 3 6.5 3s3.3-3 6.5-3M1.5 9.5c3.2 0 3.2 3 6.5 3s3.3-3 6.5-3",
  engine: "M3.2 12.5a6 6 0 1 1 9.6 0M8 9l2.8-3.4",
  undo: "M5 2.8 2 5.8l3 3M2 5.8h7.2a4 4 0 0 1 0 8H6",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M7 6.5V13",
  disk: "M2.5 4.5C2.5 3 13.5 3 13.5 4.5v7c0 1.5-11 1.5-11 0zM2.5 4.5C2.5 6 13.5 6 13.5 4.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16, spins = false }: { name: IconName; size?: number; spins?: boolean }) {
  return (
    <svg
      class={spins ? "spinner" : undefined}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0b7285" />
      <path
        d="M5 23c4.5 0 6.8-1.5 9.2-5.6C16.7 13 19 9.2 24.5 7.5c-1.7 4.3-1.3 8 .4 11.6.9 1.9 1.9 2.9 3.1 3.9z"
        fill="#fff"
      />
    </svg>
  );
}
