/** The console: login, navigation, and the page of the current address. */
import { useEffect, useRef } from "preact/hooks";
import { LoginPage } from "./pages/login";
import { OverviewPage } from "./pages/overview";
import { QueriesPage } from "./pages/queries/queries_page";
import { Confirmation } from "./parts/dialog";
import { lazy } from "./parts/lazy";
import { Navigation } from "./parts/navigation";
import { isPaletteOpen, Palette } from "./parts/palette";
import { Empty } from "./parts/parts";
import { Toasts } from "./parts/toasts";
import { decoded, path } from "./router";
import { askSession, sessionState } from "./session";

const QueryPage = lazy<{ id: string }>(async () => (await import("./pages/query/query_page")).QueryPage);
const ComparePage = lazy<{ id: string; other: string | null }>(
  async () => (await import("./pages/query/compare_page")).ComparePage,
);
const TablesPage = lazy<object>(async () => (await import("./pages/tables/tables_page")).TablesPage);
const WorksheetPage = lazy<object>(async () => (await import("./pages/worksheet/worksheet_page")).WorksheetPage);
const StreamsPage = lazy<object>(async () => (await import("./pages/streams/streams_page")).StreamsPage);
const StreamPage = lazy<{ name: string }>(async () => (await import("./pages/streams/stream_page")).StreamPage);
const EnginePage = lazy<object>(async () => (await import("./pages/engine/engine_page")).EnginePage);

function CurrentPage() {
  const [, name, id, action, other] = path.value.split("/");
  if (!name) return <OverviewPage />;
  if (name === "queries" && id && action === "compare") {
    return <ComparePage key={path.value} id={decoded(id)} other={other ? decoded(other) : null} />;
  }
  if (name === "queries" && id) return <QueryPage key={id} id={decoded(id)} />;
  if (name === "queries") return <QueriesPage />;
  if (name === "tables") return <TablesPage />;
  if (name === "worksheet") return <WorksheetPage />;
  if (name === "streams" && id) return <StreamPage key={id} name={decoded(id)} />;
  if (name === "streams") return <StreamsPage />;
  if (name === "engine") return <EnginePage />;
  return (
    <Empty icon="search" title="There is no such page">
      <p>The address may have a typing error.</p>
      <a class="button" href="#/">
        Go to the overview
      </a>
    </Empty>
  );
}

export function App() {
  useEffect(() => {
    askSession();
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && sessionState.value === "open") {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const main = useRef<HTMLElement>(null);
  switch (sessionState.value) {
    case "asking":
      return null;
    case "login":
      return <LoginPage />;
    case "unreachable":
      return (
        <Empty icon="alert" title="The server cannot be reached">
          <p>Check that it runs, then try again.</p>
          <button type="button" class="button primary" onClick={askSession}>
            Try again
          </button>
        </Empty>
      );
    default:
      return (
        <div class="shell">
          <button type="button" class="button skip" onClick={() => main.current?.focus()}>
            Skip to the page
          </button>
          <Navigation />
          <main ref={main} tabIndex={-1}>
            <CurrentPage />
          </main>
          <Palette />
          <Confirmation />
          <Toasts />
        </div>
      );
  }
}
