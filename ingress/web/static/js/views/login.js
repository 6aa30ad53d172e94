import { post } from "../api.js";
import { html, useState } from "../preact.js";
import { withCode } from "../parts/states.js";

export function Login({ onDone, notice }) {
  const [problem, setProblem] = useState(notice);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const token = new FormData(event.target).get("token").trim();
    if (!token) return;
    setBusy(true);
    try {
      await post("/auth/login", { token });
      onDone();
    } catch (error) {
      setProblem(error.status === 401 ? "This token is not known, or was revoked." : error.message);
      setBusy(false);
    }
  };
  return html`
    <main class="login">
      <form class="card" onSubmit=${submit}>
        <h1>OpenClaw Workers</h1>
        <p class="sub">${withCode("Open the link that `ocw up` printed, or enter a token.")}</p>
        ${problem && html`<p class="problem" role="alert">${withCode(problem)}</p>`}
        <label>Token
          <input type="password" name="token" autocomplete="current-password" autofocus required spellcheck="false" />
        </label>
        <button class="primary" disabled=${busy}>${busy ? "Signing in…" : "Sign in"}</button>
        <p class="small faint">${withCode("`ocw tokens create` makes another one.")}</p>
      </form>
    </main>
  `;
}
