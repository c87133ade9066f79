import { useState } from "preact/hooks";
import { sentence } from "../format";
import { Logo } from "../parts/icons";
import { Empty, Failure, useTitle } from "../parts/parts";
import { logIn, loginHint } from "../session";

export function LoginPage() {
  useTitle("Log in");
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError(null);
    try {
      await logIn(String(given.get("user")), String(given.get("password")));
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  if (loginHint.value) {
    return (
      <Empty icon="link" title="Open the console by its link">
        <p>{sentence(loginHint.value)}</p>
      </Empty>
    );
  }
  return (
    <main class="login">
      <form class="card" onSubmit={submit}>
        <div class="brand">
          <Logo />
          sharkpy
        </div>
        <h1>Log in</h1>
        {error && <Failure error={error} />}
        <label class="field">
          User
          {/* biome-ignore lint/a11y/noAutofocus: the page has nothing else to do */}
          <input class="input" name="user" required autoFocus autocomplete="username" spellcheck={false} />
        </label>
        <label class="field">
          Password
          <input class="input" name="password" type="password" required autocomplete="current-password" />
        </label>
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? "Logging in" : "Log in"}
        </button>
      </form>
    </main>
  );
}
