/** Command palette: pages, tables, recent queries and actions, found by a few letters. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { api, type Query } from "../api";
import { catalogNames, refreshCatalog } from "../catalog";
import { ago } from "../format";
import { kindIcon, placeOf } from "../pages/tables/kinds";
import { go } from "../router";
import { session } from "../session";
import { nextTheme, theme } from "../theme";
import { Dialog } from "./dialog";
import { Icon, type IconName } from "./icons";
import { PAGES } from "./navigation";
import { oneLineSql } from "./sql_text";
import { sayError } from "./toasts";

export const isPaletteOpen = signal(false);
const MOST_ROWS = 40;

interface Command {
  /** Name that stays when the list grows. */
  id: string;
  group: string;
  icon: IconName;
  title: string;
  hint?: string;
  run: () => void;
}

/** How well letters match a title: higher is better, and null is no match. Letters must occur in order. */
export function matchScore(letters: string, title: string): number | null {
  const wanted = letters.toLowerCase().trim();
  const text = title.toLowerCase();
  if (!wanted) return 0;
  const whole = text.indexOf(wanted);
  if (whole >= 0) return 1000 - whole + (whole === 0 || /\W/.test(text[whole - 1] ?? "") ? 100 : 0);
  let at = -1;
  let gaps = 0;
  for (const letter of wanted) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    gaps += at < 0 ? 0 : next - at - 1;
    at = next;
  }
  return gaps > 3 * wanted.length ? null : 500 - gaps;
}

function commands(recent: Query[]): Command[] {
  return [
    ...PAGES.map((page) => ({
      id: page.path,
      group: "Pages",
      icon: page.icon,
      title: page.title,
      run: () => go(page.path),
    })),
    {
      id: "running",
      group: "Actions",
      icon: "turning",
      title: "Show running queries",
      run: () => go("/queries", new URLSearchParams({ state: "active" })),
    },
    {
      id: "expensive",
      group: "Actions",
      icon: "chart",
      title: "Show expensive queries",
      run: () => go("/queries", new URLSearchParams({ tab: "expensive" })),
    },
    { id: "colours", group: "Actions", icon: "sun", title: "Change colours", hint: theme.value, run: nextTheme },
    ...(session.value?.needs_login
      ? [
          {
            id: "logout",
            group: "Actions",
            icon: "logout" as const,
            title: "Log out",
            run: () => {
              api.logout().then(() => location.reload(), sayError);
            },
          },
        ]
      : []),
    ...recent.map((query) => ({
      id: `query ${query.query_id}`,
      group: "Recent queries",
      icon: "clock" as const,
      title: oneLineSql(query.text),
      hint: ago(query.started, Date.now()),
      run: () => go(`/queries/${encodeURIComponent(query.query_id)}`),
    })),
  ];
}

function tables(): Command[] {
  return (catalogNames.value?.tables ?? []).map((table) => ({
    id: `table ${table.database}.${table.name}`,
    group: "Tables",
    icon: kindIcon(table.kind),
    title: `${table.database}.${table.name}`,
    hint: table.kind,
    run: () => go(placeOf(table)),
  }));
}

export function Palette() {
  if (!isPaletteOpen.value) return null;
  return <OpenPalette />;
}

function OpenPalette() {
  const [letters, setLetters] = useState("");
  const [chosenId, setChosenId] = useState("");
  const [recent, setRecent] = useState<Query[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    api.queries(new URLSearchParams({ limit: "30" }), stop.signal).then(
      (page) => setRecent(page.queries),
      () => setRecent([]),
    );
    // Without the catalog, the palette finds the other things.
    refreshCatalog().catch(() => {});
    return () => stop.abort();
  }, []);
  const close = () => {
    isPaletteOpen.value = false;
  };
  const found = [...commands(recent), ...(letters.trim() ? tables() : [])]
    .map((command, order) => ({ command, order, score: matchScore(letters, command.title) }))
    .filter((one) => one.score !== null)
    .sort((a, b) => (letters ? (b.score ?? 0) - (a.score ?? 0) : 0) || a.order - b.order)
    .map((one) => one.command)
    .filter((command, place) => place < MOST_ROWS || command.id === chosenId);
  // A command stays chosen when tables and recent queries arrive.
  const at = Math.max(
    0,
    found.findIndex((command) => command.id === chosenId),
  );
  const choose = (command: Command | undefined) => setChosenId(command?.id ?? "");
  if (found[at]?.id !== chosenId && found[at]) choose(found[at]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) choose(found[(at + step + found.length) % Math.max(1, found.length)]);
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Commands" class="palette" onClose={close}>
      <input
        autoFocus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label="Find a page, a table, a query or an action"
        placeholder="Find a page, a table, a query or an action"
        autocomplete="off"
        spellcheck={false}
        value={letters}
        onInput={(event) => {
          setLetters(event.currentTarget.value);
          choose(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      {found.length ? (
        <div id="palette-list" class="list" role="listbox" aria-label="Commands">
          {found.map((command, index) => (
            <PaletteRow
              key={command.id}
              id={`palette-${index}`}
              command={command}
              isFirst={!letters && command.group !== found[index - 1]?.group}
              isChosen={index === at}
              onChoose={() => run(command)}
              onPoint={() => choose(command)}
            />
          ))}
        </div>
      ) : (
        <p class="nothing">Nothing has these letters.</p>
      )}
    </Dialog>
  );
}

function PaletteRow(props: {
  id: string;
  command: Command;
  isFirst: boolean;
  isChosen: boolean;
  onChoose: () => void;
  onPoint: () => void;
}) {
  const { command, isChosen } = props;
  return (
    <>
      {props.isFirst && (
        <div class="group" role="presentation">
          {command.group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys */}
      <div
        id={props.id}
        class="option"
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        ref={(row) => {
          if (isChosen) row?.scrollIntoView({ block: "nearest" });
        }}
        onClick={props.onChoose}
        onPointerMove={props.onPoint}
      >
        <Icon name={command.icon} />
        <span class={command.group === "Recent queries" ? "title mono" : "title"}>{command.title}</span>
        {command.hint && <span class="hint">{command.hint}</span>}
      </div>
    </>
  );
}
