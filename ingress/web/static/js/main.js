import { html, render } from "./preact.js";
import { App } from "./app.js";

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
