/** The profile of one query as a file of its own: it needs no server and no network. */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/queries.css";

import { render } from "preact";
import type { Profile } from "./api";
import { fullTime } from "./format";
import { Figures, ProfileTabs } from "./pages/query/profile_view";
import { Icon } from "./parts/icons";
import { download, Empty, State, useTitle } from "./parts/parts";
import { oneLineSql, SqlText } from "./parts/sql_text";

function ProfileFile({ profile }: { profile: Profile }) {
  useTitle(oneLineSql(profile.text).slice(0, 60));
  return (
    <main class="profile-file">
      <div class="page">
        <div class="page-head query-head">
          <h1>Query</h1>
          <State state={profile.error ? "failed" : "finished"} />
          <span class="muted facts-line">
            <span>{profile.user || "anonymous"}</span>
            <span>{fullTime(profile.started)}</span>
            <code>{profile.query_id}</code>
          </span>
          <div class="right">
            <button
              type="button"
              class="button"
              onClick={() =>
                download(`query-${profile.query_id}.json`, [JSON.stringify(profile, null, 2)], "application/json")
              }
            >
              <Icon name="download" size={14} /> JSON
            </button>
          </div>
        </div>
        {profile.error && (
          <div class="notice bad" role="alert">
            <strong>{profile.error.message}</strong>
            {profile.error.sqlstate && <span class="mono">SQLSTATE {profile.error.sqlstate}</span>}
          </div>
        )}
        <Figures query={profile} total={profile.seconds} loading={profile.loading_seconds} />
        <SqlText text={profile.text} error={profile.error} />
        <ProfileTabs profile={profile} />
      </div>
    </main>
  );
}

function givenProfile(): Profile | null {
  const text = document.getElementById("profile")?.textContent?.trim();
  return text ? (JSON.parse(text) as Profile) : null;
}

const root = document.getElementById("app");
const profile = givenProfile();
if (root) {
  render(profile ? <ProfileFile profile={profile} /> : <Empty icon="chart" title="This file has no profile" />, root);
}
