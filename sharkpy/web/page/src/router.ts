/** Address of the page after `#`: a path and parameters, such as `/queries?state=running`. */
import { computed, signal } from "@preact/signals";

export interface Place {
  path: string;
  parameters: URLSearchParams;
}

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { path: `/${path.replace(/^\/+|\/+$/g, "")}`, parameters: new URLSearchParams(query) };
}

export function placeText(path: string, parameters?: URLSearchParams): string {
  const query = parameters?.toString() ?? "";
  return `#${path}${query && `?${query}`}`;
}

export const place = signal<Place>(parsePlace(typeof location === "undefined" ? "" : location.hash));
export const path = computed(() => place.value.path);

if (typeof window !== "undefined") {
  window.addEventListener("hashchange", () => {
    place.value = parsePlace(location.hash);
  });
}

/** Text of a part of a path. A malformed one, which a person may type, is taken as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(to: string, parameters?: URLSearchParams): void {
  location.hash = placeText(to, parameters);
}

/** Change the parameters of the current page without a new entry in the browser's history. */
export function replaceParameters(parameters: URLSearchParams): void {
  const text = placeText(path.value, parameters);
  if (text === location.hash) return;
  try {
    history.replaceState(null, "", text);
  } catch {
    // A page within another one may have no address of its own.
  }
  place.value = parsePlace(text);
}
