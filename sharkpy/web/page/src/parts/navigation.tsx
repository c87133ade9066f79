/** Pages of the console, and the bar that links them. */
import { api } from "../api";
import { path } from "../router";
import { session } from "../session";
import { nextTheme, theme } from "../theme";
import { Icon, type IconName, Logo } from "./icons";
import { isPaletteOpen } from "./palette";
import { sayError } from "./toasts";

export const PAGES: readonly { path: string; title: string; icon: IconName }[] = [
  { path: "/", title: "Overview", icon: "home" },
  { path: "/queries", title: "Queries", icon: "queries" },
  { path: "/worksheet", title: "Worksheet", icon: "worksheet" },
  { path: "/tables", title: "Tables", icon: "grid" },
  { path: "/streams", title: "Streams", icon: "streams" },
  { path: "/engine", title: "Engine", icon: "engine" },
];

const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

export function Navigation() {
  const at = path.value;
  const who = session.value;
  return (
    <header class="side">
      <a class="brand" href="#/" aria-label="sharkpy, overview">
        <Logo />
        sharkpy
      </a>
      <button
        type="button"
        class="button search"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        <Icon name="search" size={14} />
        <span>
          Find<span class="visually-hidden"> a page, a table, a query or an action</span>
        </span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <nav aria-label="Pages">
        {PAGES.map((page) => (
          <a
            key={page.path}
            href={`#${page.path}`}
            aria-current={
              at === page.path || (page.path !== "/" && at.startsWith(`${page.path}/`)) ? "page" : undefined
            }
          >
            <Icon name={page.icon} />
            {page.title}
          </a>
        ))}
      </nav>
      <footer>
        <div class="row">
          <span class="who" title={who?.user}>
            {who?.user || "anonymous"}
            {who?.is_admin && " · admin"}
          </span>
          <button
            type="button"
            class="button quiet small icon"
            title={`Colours: ${theme.value}`}
            aria-label={`Colours: ${theme.value}. Change`}
            onClick={nextTheme}
          >
            <Icon name={THEME_ICONS[theme.value]} size={15} />
          </button>
          {who?.needs_login && (
            <button
              type="button"
              class="button quiet small icon"
              title="Log out"
              aria-label="Log out"
              onClick={() => {
                api.logout().then(() => location.reload(), sayError);
              }}
            >
              <Icon name="logout" size={15} />
            </button>
          )}
        </div>
        <span class="version" title={who?.warehouse}>
          sharkpy {who?.version}
        </span>
      </footer>
    </header>
  );
}
