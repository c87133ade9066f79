/** Modal dialogs: the browser's own, which keep the focus and close with Escape. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(props: { label: string; class?: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // The dialog has the focus before the next key: an effect after the paint would lose letters.
  useLayoutEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog; a click outside is the pointer's way
    <dialog
      ref={element}
      class={props.class ?? ""}
      aria-label={props.label}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === element.current) props.onClose();
      }}
    >
      {props.children}
    </dialog>
  );
}

interface Question {
  title: string;
  text: string;
  action: string;
  /** What the button says that changes nothing. */
  keep: string;
  run: () => void;
}

const question = signal<Question | null>(null);

/** Ask before something that cannot be undone. */
export function confirm(asked: Question): void {
  question.value = asked;
}

export function Confirmation() {
  const asked = question.value;
  if (!asked) return null;
  const close = () => {
    question.value = null;
  };
  return (
    <Dialog label={asked.title} onClose={close}>
      <div class="content">
        <h2>{asked.title}</h2>
        <p class="muted">{asked.text}</p>
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            {asked.keep}
          </button>
          <button
            type="button"
            class="button danger"
            onClick={() => {
              close();
              asked.run();
            }}
          >
            {asked.action}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
