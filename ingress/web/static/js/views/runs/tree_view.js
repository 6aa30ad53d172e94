// One tree: figures, time axis, and the panel of the selected run.
import { at, get } from "../../api.js";
import { clock, duration, firstLine, sessionName } from "../../format.js";
import { html, useEffect, useState } from "../../preact.js";
import { StateTag, isLive } from "../../parts/marks.js";
import { Failure, Loaded } from "../../parts/states.js";
import { useNow, useResource } from "../../resource.js";
import { Link, chatPath, navigate, runPath } from "../../router.js";
import { canChat } from "../../sessions.js";
import { RunActions } from "./actions.js";
import { Facts } from "./facts.js";
import { RunPanel } from "./panel.js";
import { Timeline } from "./timeline.js";
import { extentOf, findRun, titleOf, walk } from "./tree.js";
import { isRunChange } from "./runs.js";

export function TreeView({ rootId, runId, me }) {
  const [following, setFollowing] = useState(true);
  const tree = useResource(at("tree", rootId), { on: isRunChange, everyMs: 5000, paused: !following });
  const root = treeRoot(tree.data, rootId);
  useWholeTree(root, runId);
  const live = root ? [...walk(root)].some((run) => isLive(run.state)) : false;
  const now = useNow(500, live && following);
  const title = root ? titleOf(root) : "";
  if (tree.data && !root) {
    const error = { message: `No run ${rootId} is on record.`, hint: "Records are kept for seven days." };
    return html`<${Failure} error=${error} />`;
  }
  return html`
    <div class="runs-view">
      <div class="scroll runs-main">
        <${Loaded} resource=${tree}>${() => html`
          <${TreeHead} root=${root} title=${title} now=${now} live=${live} me=${me} reload=${tree.reload}
            following=${following} setFollowing=${setFollowing} />
          <${Facts} root=${root} budget=${root.budget} now=${now} />
          <${Timeline} root=${root} title=${title} now=${now} selected=${runId} following=${following && live}
            onSelect=${(id) => navigate(runPath(rootId, id === rootId ? null : id), { replace: true })} />
        `}<//>
      </div>
      ${root && html`
        <${RunPanel} key=${runId} run=${findRun(root, runId) ?? root} root=${root} title=${title} now=${now} me=${me}
          reload=${tree.reload} />
      `}
    </div>
  `;
}

const treeRoot = (data, rootId) => data?.trees.find((tree) => findRun(tree, rootId)) ?? null;

/** The address may name a sub-agent: go on to the tree that it belongs to. */
function useWholeTree(root, runId) {
  useEffect(() => {
    if (!root?.parentRunId) return;
    (async () => {
      let above = root;
      while (above.parentRunId) above = await get(at("runs", above.parentRunId));
      navigate(runPath(above.runId, runId), { replace: true });
    })().catch(() => {});
  }, [root?.runId]);
}

function TreeHead({ root, title, now, live, following, setFollowing, me, reload }) {
  const { from, to } = extentOf(root, now);
  return html`
    <div class="view-head">
      <div>
        <h1>${firstLine(title, 160)}</h1>
        <p class="sub">
          <${Link} to="/runs">Runs<//> / <${Link} to=${chatPath(root.sessionKey)}>${sessionName(root.sessionKey)}<//>
          ${" · "}started ${clock(root.queuedAt)} · ${
            live
              ? html`<span class="tag running">${duration(to - from)}</span>`
              : html`<${StateTag} state=${root.state} /> took ${duration(to - from)}`
          }
        </p>
      </div>
      <div class="actions">
        ${live && html`
          <button aria-pressed=${following} onClick=${() => setFollowing(!following)}
            title="Off: the picture stands still while you read">Follow live</button>
        `}
        ${canChat(me) && html`<${RunActions} run=${root} isTree=${true} live=${live} reload=${reload} />`}
      </div>
    </div>
  `;
}
