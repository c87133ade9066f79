/** Who uses the console. */
import { signal } from "@preact/signals";
import { ApiError, api, type Session, whenLoggedOut } from "./api";

export const session = signal<Session | null>(null);
export const sessionState = signal<"asking" | "open" | "login" | "unreachable">("asking");

/** How the reader logs in, if not by a password. */
export const loginHint = signal<string | null>(null);

whenLoggedOut((error) => {
  session.value = null;
  loginHint.value = error.error.hint;
  sessionState.value = "login";
});

export async function askSession(): Promise<void> {
  try {
    session.value = await api.session();
    sessionState.value = "open";
  } catch (error) {
    sessionState.value = error instanceof ApiError && error.status === 401 ? "login" : "unreachable";
  }
}

export async function logIn(user: string, password: string): Promise<void> {
  session.value = await api.login(user, password);
  sessionState.value = "open";
}
