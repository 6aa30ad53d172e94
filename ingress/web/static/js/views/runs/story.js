// The journal of a run as a story: owners, messages, tools and the answer, in order of time.
import { clock, duration, firstLine } from "../../format.js";
import { workerName } from "../../hosts.js";
import { html } from "../../preact.js";
import { Rendered } from "../chat/rendered.js";
import { itemsOf } from "../chat/items.js";
import { hasInput, inputText } from "../chat/tools.js";
import { Empty } from "../../parts/states.js";

export function Story({ run, entries }) {
  const steps = [...ownerSteps(run), ...itemsOf(entries).flatMap((item) => journalSteps(item, run))].sort(
    (a, b) => a.at - b.at,
  );
  if (!steps.length) return html`<${Empty} title="Nothing yet">The first step appears when a worker takes the run.<//>`;
  return html`<ol class="story">${steps.map((step, index) => html`
    <li key=${index} class="step ${step.mood ?? ""}">
      <time title=${new Date(step.at).toISOString()}>${clock(step.at)}</time><b>${step.what}</b> ${step.detail}
      ${step.body}
    </li>
  `)}</ol>`;
}

const HOW = { taken: "Taken", takeover: "Resumed", handover: "Resumed", unpark: "Resumed" };

function ownerSteps(run) {
  const steps = [];
  (run.attempts ?? []).forEach((attempt, index, all) => {
    const host = `on ${workerName(attempt.worker)}`;
    if (attempt.how === "takeover" && !all[index - 1]?.until)
      steps.push({
        at: attempt.at - 1,
        what: "Worker lost",
        mood: "bad",
        detail: `on ${workerName(all[index - 1]?.worker)}`,
      });
    steps.push({
      at: attempt.at,
      what: HOW[attempt.how] ?? "Taken",
      detail: `${host}${attempt.how === "handover" ? ", handed over" : ""}`,
    });
    if (attempt.end === "lost") steps.push({ at: attempt.until, what: "Worker lost", mood: "bad", detail: host });
    if (attempt.end === "parked") steps.push({ at: attempt.until, what: "Parked", detail: "holds no worker" });
    if (attempt.end === "handover")
      steps.push({ at: attempt.until, what: "Handed over", detail: "the worker was leaving" });
  });
  for (const failed of run.modelAttempts ?? []) {
    if (failed.at) steps.push({ at: failed.at, what: failed.model, mood: "bad", detail: failed.description });
  }
  if (run.endedAt && run.state !== "ok")
    steps.push({
      at: run.endedAt,
      what: { error: "Failed", timeout: "Timed out", killed: "Stopped" }[run.state],
      mood: "bad",
      detail: (run.modelAttempts ?? []).at(-1)?.description ?? run.reason ?? "",
    });
  return steps;
}

function journalSteps(item, run) {
  switch (item.kind) {
    case "tools":
      return item.calls.map((call) => toolStep(call, run));
    case "assistant":
      return [
        {
          at: item.at,
          what: "Said",
          mood: "ok",
          detail: "",
          body: html`<div class="step-body"><${Rendered} text=${item.text} /></div>`,
        },
      ];
    case "user":
      return [
        {
          at: item.at,
          what: item.steered ? "Steered" : "Asked",
          detail: "",
          body: html`<${Long} text=${item.text} />`,
        },
      ];
    case "internal":
      return [
        {
          at: item.at,
          what: "Received",
          detail: item.source === "subagent" ? "results of sub-agents" : item.source,
          body: html`<${Long} text=${item.text} />`,
        },
      ];
    case "thinking":
      return [{ at: item.at, what: "Reasoned", detail: "", body: html`<${Long} text=${item.text} />` }];
    case "compaction":
      return [
        {
          at: item.at,
          what: "Summed up",
          detail: "older messages",
          body: html`<${Long} text=${item.entry.summary} />`,
        },
      ];
    default:
      return [{ at: item.at, what: "Notice", mood: item.level === "error" ? "bad" : "", detail: item.text }];
  }
}

function toolStep(call, run) {
  const took = call.endedAt ? duration(call.endedAt - call.at) : run.endedAt ? "no result" : "running";
  const input = hasInput(call) ? inputText(call.input) : "";
  return {
    at: call.at,
    what: call.name,
    mood: call.failed ? "bad" : call.endedAt ? "ok" : "",
    detail: html`<span class="faint">${took}</span>`,
    body: html`
      ${input && html`<${Long} text=${input} />`}
      ${call.output && html`<${Long} text=${call.output} label=${call.failed ? "Error" : "Output"} />`}
    `,
  };
}

const SHORT = 160;

function Long({ text, label }) {
  const isLong = text.length > SHORT || text.includes("\n");
  if (!isLong) return html`<code class="step-code">${label ? `${label}: ` : ""}${text}</code>`;
  return html`
    <details class="step-code">
      <summary>${label ? `${label}: ` : ""}${firstLine(text, SHORT)}</summary>
      <pre>${text}</pre>
    </details>
  `;
}
