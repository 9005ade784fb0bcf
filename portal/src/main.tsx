// SPDX-License-Identifier: Apache-2.0
// The portal: which page the address asks for, and what is around it.
import { render } from "preact";
import { useState } from "preact/hooks";
import { startLive } from "./api/live";
import { useStore } from "./api/store";
import { findToken, token } from "./api/token";
import { JobsPage } from "./jobs/page";
import { JobPage } from "./job/page";
import { SitesPage } from "./sites/page";
import { StudiesPage } from "./studies/page";
import { StudyPage } from "./studies/study";
import { Header, nextTheme } from "./shell/header";
import { Help } from "./shell/help";
import { useKeys } from "./shell/keys";
import { address, go, startRouter } from "./shell/router";
import { SignIn } from "./shell/sign_in";
import "./style/main.css";

function App() {
  const { path } = useStore(address);
  const known = useStore(token);
  const [help, setHelp] = useState(false);
  const [had, setHad] = useState(false);
  if (known && !had) setHad(true);
  useKeys({
    "?": () => setHelp(true),
    "/": () => document.getElementById("search")?.focus(),
    g: () => go("/"),
    s: () => go("/sites"),
    t: nextTheme,
  });
  return (
    <>
      <Header onHelp={() => setHelp(true)} />
      {known ? <Page path={path} /> : <SignIn refused={had} />}
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function Page({ path }: { path: string }) {
  const job = /^\/jobs\/([^/]+)$/.exec(path)?.[1];
  if (path === "/") return <JobsPage />;
  if (path === "/sites") return <SitesPage />;
  if (path === "/studies") return <StudiesPage />;
  const study = /^\/studies\/([^/]+)\/([^/]+)$/.exec(path);
  if (study) return <StudyPage owner={plain(study[1]!)} name={plain(study[2]!)} />;
  if (job) return <JobPage id={plain(job)} />;
  return (
    <main id="main" class="narrow">
      <h1>There is no such page</h1>
      <p>
        The portal has <a href="/">jobs</a>, <a href="/studies">studies</a> and <a href="/sites">sites</a>; a job’s page is <code>/jobs/NAME-7</code>.
      </p>
    </main>
  );
}

function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

findToken();
startRouter();
startLive();
render(<App />, document.getElementById("app")!);
