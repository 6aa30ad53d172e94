// The frame around the views: who is signed in, navigation, sessions, banners.
import { at, get, onSignedOut, signOut } from "./api.js";
import { startLive, stopLive, useLiveStatus } from "./live.js";
import { html, useEffect, useErrorBoundary, useState } from "./preact.js";
import { DialogHost } from "./parts/dialog.js";
import { Icon } from "./parts/icons.js";
import { Failure, Loading, withCode } from "./parts/states.js";
import { ToastHost } from "./parts/toasts.js";
import { Nav, VIEWS } from "./nav.js";
import { useResource } from "./resource.js";
import { Link, navigate, useRoute } from "./router.js";
import { SessionList } from "./sessions.js";
import { Login } from "./views/login.js";

export function App() {
  const [me, setMe] = useState(null);
  const [error, setError] = useState(null);
  const load = async () => {
    setError(null);
    try {
      const answer = await get("/web/me");
      setMe(answer.me ? { ...answer.me, version: answer.version } : false);
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => {
    load();
    return onSignedOut(() => {
      stopLive();
      setMe(false);
    });
  }, []);
  useEffect(() => {
    if (me) startLive();
  }, [me]);
  if (error) return html`<main class="login"><${Failure} error=${error} retry=${load} /></main>`;
  if (me === null) return html`<main class="login"><${Loading} /></main>`;
  if (!me) return html`<${Login} onDone=${load} notice=${linkNotice()} />`;
  const leave = async () => {
    stopLive();
    setMe(null); // no view is left that asks for anything
    await signOut();
    location.assign("/");
  };
  return html`<${Shell} me=${me} onLeave=${leave} /><${DialogHost} /><${ToastHost} />`;
}

function linkNotice() {
  const has = new URLSearchParams(location.search).has("login");
  return has ? "This login link was used already, or is too old. `ocw tokens link` prints a new one." : null;
}

function Shell({ me, onLeave }) {
  const route = useRoute();
  const view = VIEWS.find((each) => each.id === route.view) ?? VIEWS[0];
  const [menu, setMenu] = useState(false);
  const status = useResource(at("status"), { on: isFleetChange, everyMs: 5000 });
  const sessions = useResource(at("sessions") + "?limit=200", { on: isSessionChange, everyMs: 30000 });
  useEffect(() => {
    if (route.view !== view.id) navigate(`/${view.id}`, { replace: true });
    document.title = `${view.title} · OpenClaw Workers`;
  }, [route.view, view.id]);
  const close = () => setMenu(false);
  return html`
    <div class="shell">
      <a class="skip" href="#main">Skip to the content</a>
      <aside class="side ${menu ? "open" : ""}">
        <${Link} class="brand" to="/chat">OpenClaw Workers <small>${me.version}</small><//>
        <${Nav} current=${view.id} status=${status.data} onNavigate=${close} />
        <${SessionList} sessions=${sessions} route=${route} onNavigate=${close} me=${me} />
        <${Foot} onLeave=${onLeave} />
      </aside>
      <div class="page">
        <header class="topbar">
          <button class="quiet icon" aria-label="Sessions" aria-expanded=${menu} onClick=${() => setMenu(!menu)}>
            <${Icon} name=${menu ? "close" : "menu"} />
          </button>
          <b class="ellipsis">${view.title}</b>
          <${ThemeButton} />
        </header>
        <${Banners} status=${status} />
        <main class="view" id="main" tabindex="-1">
          <${Guard} key=${view.id}><${view.component} route=${route} me=${me} status=${status} sessions=${sessions} /><//>
        </main>
      </div>
    </div>
  `;
}

const isFleetChange = (event) => !/delta$|^tool\./.test(event.type);
const isSessionChange = (event) =>
  /^(run|session|message|subagent|runs|sessions)/.test(event.type) && !/delta|tool/.test(event.type);

function Guard({ children }) {
  const [error, reset] = useErrorBoundary((problem) => console.error(problem));
  if (!error) return children;
  return html`<${Failure} error=${{ message: "This view failed.", hint: String(error) }} retry=${reset} />`;
}

function Foot({ onLeave }) {
  const status = useLiveStatus();
  const words = { open: "Live", connecting: "Connecting…", waiting: "Reconnecting…" };
  return html`
    <div class="side-foot">
      <span class="conn" role="status"><i class="dot ${status === "open" ? "ok" : "queued"}"></i>${words[status]}</span>
      <${ThemeButton} />
      <button class="quiet icon" aria-label="Sign out" title="Sign out" onClick=${onLeave}><${Icon} name="leave" /></button>
    </div>
  `;
}

const ThemeButton = () => html`
  <button class="quiet icon" aria-label="Light or dark" title="Light or dark" onClick=${() => window.toggleTheme()}>
    <${Icon} name="sun" />
  </button>
`;

function Banners({ status }) {
  const live = useLiveStatus();
  const empty = (status.data?.lanes ?? []).filter((lane) => !lane.workers);
  const names = empty.map((lane) => lane.lane).join(", ");
  return html`
    ${live === "waiting" && html`
      <div class="banner bad" role="alert">Connection lost. Reconnecting; what you see may be out of date.</div>
    `}
    ${status.error && live !== "waiting" && html`
      <div class="banner bad" role="alert">${withCode(status.error.message)} ${withCode(status.error.hint ?? "")}</div>
    `}
    ${names && html`
      <div class="banner" role="alert">
        <b>No worker serves ${empty.length > 1 ? "the lanes" : "the lane"} ${names}.</b>
        <span>${withCode(`Messages wait until one starts: \`ocw worker --lane ${empty[0].lane}\` or \`ocw up\`.`)}</span>
      </div>
    `}
  `;
}
