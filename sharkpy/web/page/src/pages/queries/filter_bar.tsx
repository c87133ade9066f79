import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icons";
import { type Filters, hasFilter, SPANS, type Span, type StateGroup } from "./filters";

const GROUPS: readonly { group: StateGroup | null; text: string }[] = [
  { group: null, text: "All" },
  { group: "active", text: "Active" },
  { group: "finished", text: "Finished" },
  { group: "failed", text: "Failed" },
  { group: "cancelled", text: "Cancelled" },
];

const SPAN_TEXTS: Record<Span, string> = {
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
};

const NO_FILTER = { state: null, user: "", text: "", span: null, since: "", until: "" } as const;

export function FilterBar({ filters, onChange }: { filters: Filters; onChange: (changed: Partial<Filters>) => void }) {
  const isCustom = Boolean(filters.since || filters.until);
  const [asksTimes, setAsksTimes] = useState(isCustom);
  return (
    <fieldset class="filter-bar" aria-label="Filters">
      <fieldset class="segments" aria-label="State">
        {GROUPS.map(({ group, text }) => (
          <button
            key={text}
            type="button"
            aria-pressed={filters.state === group}
            onClick={() => onChange({ state: group })}
          >
            {text}
          </button>
        ))}
      </fieldset>
      <Typed label="Words of the statement" value={filters.text} onChange={(text) => onChange({ text })} isWide />
      <Typed label="User" value={filters.user} onChange={(user) => onChange({ user })} />
      <select
        class="select"
        aria-label="Time"
        value={asksTimes || isCustom ? "custom" : (filters.span ?? "")}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          setAsksTimes(chosen === "custom");
          if (chosen !== "custom") onChange({ span: (chosen || null) as Span | null, since: "", until: "" });
        }}
      >
        <option value="">Any time</option>
        {(Object.keys(SPANS) as Span[]).map((span) => (
          <option key={span} value={span}>
            {SPAN_TEXTS[span]}
          </option>
        ))}
        <option value="custom">From and until</option>
      </select>
      {(asksTimes || isCustom) && (
        <>
          <input
            class="input"
            type="datetime-local"
            aria-label="From"
            value={filters.since}
            onChange={(event) => onChange({ span: null, since: event.currentTarget.value })}
          />
          <input
            class="input"
            type="datetime-local"
            aria-label="Until"
            value={filters.until}
            onChange={(event) => onChange({ span: null, until: event.currentTarget.value })}
          />
        </>
      )}
      {hasFilter(filters) && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            setAsksTimes(false);
            onChange(NO_FILTER);
          }}
        >
          <Icon name="cross" size={13} /> Clear
        </button>
      )}
    </fieldset>
  );
}

const TYPING_PAUSE = 250;

/** Text field that reports its value when the typing pauses. */
function Typed(props: { label: string; value: string; onChange: (value: string) => void; isWide?: boolean }) {
  const [text, setText] = useState(props.value);
  const reported = useRef(props.value);
  const timer = useRef(0);
  if (props.value !== reported.current) {
    reported.current = props.value;
    setText(props.value);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      class={props.isWide ? "input wide" : "input"}
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      spellcheck={false}
      value={text}
      onInput={(event) => {
        const value = event.currentTarget.value;
        setText(value);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => {
          reported.current = value;
          props.onChange(value);
        }, TYPING_PAUSE);
      }}
    />
  );
}
