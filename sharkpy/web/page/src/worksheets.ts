/** Worksheets: texts that the browser stores. */
import { effect, signal } from "@preact/signals";
import { load, store } from "./storage";

export interface Worksheet {
  id: string;
  name: string;
  text: string;
}

const FIRST_TEXT =
  "-- Run the statement at the cursor with Ctrl+Enter, all statements with Shift+Ctrl+Enter.\nSHOW TABLES;\n";

function isWorksheet(value: unknown): value is Worksheet {
  const one = value as Partial<Worksheet> | null;
  return typeof one?.id === "string" && typeof one.name === "string" && typeof one.text === "string";
}

function loaded(): Worksheet[] {
  const stored = load<unknown>("worksheets", []);
  const found = Array.isArray(stored) ? stored.filter(isWorksheet) : [];
  return found.length ? found : [{ id: "1", name: "Worksheet 1", text: FIRST_TEXT }];
}

export const worksheets = signal<Worksheet[]>(loaded());
export const currentId = signal<string>(load("worksheet", worksheets.value[0]?.id ?? "1"));
/** Whether the browser stores worksheets: it may be full. */
export const isStored = signal(true);

effect(() => {
  isStored.value = store("worksheets", worksheets.value) && store("worksheet", currentId.value);
});

export function currentWorksheet(): Worksheet {
  const all = worksheets.value;
  return all.find((one) => one.id === currentId.value) ?? all[0] ?? addWorksheet("");
}

export function addWorksheet(text: string): Worksheet {
  const all = worksheets.value;
  const numbers = all.map((one) => Number(/^Worksheet (\d+)$/.exec(one.name)?.[1] ?? 0));
  const added = {
    id: crypto.randomUUID?.() ?? `${Date.now()}`,
    name: `Worksheet ${Math.max(0, ...numbers) + 1}`,
    text,
  };
  worksheets.value = [...all, added];
  currentId.value = added.id;
  return added;
}

export function changeWorksheet(id: string, changed: Partial<Worksheet>): void {
  worksheets.value = worksheets.value.map((one) => (one.id === id ? { ...one, ...changed } : one));
}

export function removeWorksheet(id: string): void {
  const left = worksheets.value.filter((one) => one.id !== id);
  if (currentId.value === id) currentId.value = left.at(-1)?.id ?? "";
  worksheets.value = left;
  if (!left.length) addWorksheet("");
}

/** Open a text in a worksheet of its own, or in the one that already has it. */
export function openInWorksheet(text: string): void {
  const known = worksheets.value.find((one) => one.text.trim() === text.trim());
  if (known) currentId.value = known.id;
  else addWorksheet(text);
}
