// Skills: what an agent can do by instructions, and why some are not offered.
import { at, withQuery } from "../../api.js";
import { html } from "../../preact.js";
import { AgentSwitch } from "../../parts/agent_switch.js";
import { Empty, Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { useResource } from "../../resource.js";
import { skillsPath } from "../../router.js";

export function SkillsView({ route }) {
  const agents = useResource(at("agents"));
  return html`<${Loaded} resource=${agents}>${(data) => {
    const names = data.agents.map((each) => each.agentId);
    const agent = names.includes(route.parts[0]) ? route.parts[0] : names[0];
    return html`<${AgentSkills} key=${agent} agent=${agent} names=${names} />`;
  }}<//>`;
}

function AgentSkills({ agent, names }) {
  const skills = useResource(withQuery(at("skills"), { agentId: agent, all: true }), { everyMs: 30000 });
  return html`
    <div class="scroll">
      <div class="view-head">
        <div><h1>Skills</h1><p class="sub">Instructions that an agent reads when a task fits.</p></div>
        <${AgentSwitch} agent=${agent} names=${names} path=${skillsPath} />
      </div>
      <${Loaded} resource=${skills}>${(data) => html`<${Listed} data=${data} />`}<//>
    </div>
  `;
}

function Listed({ data }) {
  if (!data.skills.length)
    return html`<${Empty} title="No skills">Add one with ocw skills add, or begin one with ocw skills new.<//>`;
  const offered = data.skills.filter((each) => each.offered);
  const refused = data.skills.filter((each) => !each.offered);
  return html`
    ${!data.judgedBy && html`
      <p class="notice warning">No worker answers, so skills of plugins are missing here.</p>
    `}
    ${data.warnings.map((each) => html`<p class="notice warning" key=${each}>${each}</p>`)}
    <${Group} id="offered" title="Offered" skills=${offered} none="The agent is offered no skill." />
    <${Group} id="refused" title="Not offered" skills=${refused} none="Every skill is offered." />
  `;
}

const Group = ({ id, title, skills, none }) => html`
  <section class="section" aria-labelledby=${id}>
    <h2 class="label" id=${id}>${title}</h2>
    <div class="card table-wrap">
      ${skills.length
        ? html`
            <table class="data skills">
              <${Head} columns=${["Skill", "From", "Command", id === "offered" ? "For" : "Why not"]} />
              <tbody>${skills.map((each) => html`<${Skill} key=${each.name} skill=${each} />`)}</tbody>
            </table>
          `
        : html`<p class="quiet-row">${none}</p>`}
    </div>
  </section>
`;

const Skill = ({ skill }) => html`
  <tr>
    <td><b title=${skill.location}>${skill.emoji} ${skill.name}</b></td>
    <td><span class="tag">${skill.source}</span></td>
    <td class="mono">${skill.command || "–"}</td>
    <td>${skill.offered
      ? html`${skill.description}${!skill.inPrompt && html` <span class="tag">on request</span>`}`
      : html`<span class="problem">${skill.reason}</span> <small class="dim">${skill.description}</small>`}</td>
  </tr>
`;
