/** Short messages at the bottom of the page, which leave by themselves. */
import { signal } from "@preact/signals";

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const toasts = signal<Toast[]>([]);
let lastId = 0;

export function say(text: string, isBad = false): void {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(-2), { id, text, isBad }];
  setTimeout(
    () => {
      toasts.value = toasts.value.filter((toast) => toast.id !== id);
    },
    isBad ? 7000 : 2600,
  );
}

export function sayError(error: unknown): void {
  say(error instanceof Error ? error.message : String(error), true);
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    say("The browser did not allow copying", true);
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.isBad ? "toast bad" : "toast"}>
          {toast.text}
        </div>
      ))}
    </div>
  );
}
