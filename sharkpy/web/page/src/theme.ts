/** Light or dark: as the system, unless the user has chosen. */
import { effect, signal } from "@preact/signals";
import { load, store } from "./storage";

export type Theme = "system" | "light" | "dark";
const THEMES: readonly Theme[] = ["system", "light", "dark"];
const stored = load<Theme>("theme", "system");
export const theme = signal<Theme>(THEMES.includes(stored) ? stored : "system");

const system = window.matchMedia("(prefers-color-scheme: dark)");
/** Counts changes of colours: canvases draw again when it changes. */
export const colours = signal(0);
system.addEventListener("change", () => {
  colours.value++;
});

effect(() => {
  const root = document.documentElement;
  if (theme.value === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme.value);
  store("theme", theme.value);
  colours.value = colours.peek() + 1;
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && system.matches);
}

/** Colour of a name of tokens.css, as a canvas takes it. */
export function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
