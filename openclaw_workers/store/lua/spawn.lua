--[[
  Register the children that one assistant message asks for: count, create, queue and batch them in one moment.

  includes  clock, schema, hashes, memory, fence, events, messages, runs, sessions, batches, tree

  keys
    row          hash    parent's row
    ctl          hash    parent's control record
    events       stream  parent's events
    batches      zset    parent's unannounced batches
    children     zset    all its children
    live         zset    its unsettled children
    tree         zset    unsettled runs of the tree
    due          zset    index of due items
    sessions     zset    index of sessions
    runs         zset    index of runs
    threads      hash    thread -> the session bound to it
    parent_key   hash    parent's run
    memory       hash    how full Redis is
    spawned      zset    sessions that the parent has spawned
    label_prefix zset    start of the key of the sessions with a label
    child_keys…  keys    for each child nine: row, ctl, inbox, receipts, events, transcript, run, its batch and the
                         batch's unsettled runs
  args
    lease          text    parent's lease
    parent_run     text    parent's run id
    parent         text    parent's session key
    most_children  number  most unsettled children of one session
    most_tree      number  most unsettled runs of the tree
    rewake_ms      number  milliseconds after which an unanswered wake-up counts as lost
    new_children…  json    for each child: run, session, session_id, agent, message_id, message (JSON text without its
                           place), row and record (objects of strings), entries (first transcript entries), batch,
                           mode, cleanup_ms (-1 for never), thread (address it is bound to, or "")

  Returns  {"lost"}, or a list with one answer for each child:
           {"accepted", index in its batch} | {"children", how many there are} | {"tree", how many} | {"cancelled"}
           {"memory", percentage of memory in use}

  Invariant
    Limits hold however many spawn at the same time. A run that must stop spawns nothing (rule 12). A repeat finds its
    children registered or refused, and changes nothing (rules 3, 13), even if there is room by then: the batch may
    have been announced.
]]
local CHILD_KEYS = { "row", "ctl", "inbox", "receipts", "events", "log", "run", "batch", "open" }
local now = now_ms()

local owns, c = check_lease(ctl, lease, "abort")
if not owns then
  return { "lost" }
end
local about = fields(row, "sessionId", "spawnedBy", "parentSessionId")
local parent_session_id = about.sessionId

local function create_session(k, child)
  -- First, because a full Redis refuses it; it would allow everything after a write that needs no memory.
  create_row(k.row, child.session, child.agent, child.session_id, now, {})
  set_label(label_prefix, k.row, child.session, child.row.label or "", now)
  set_fields(k.row, child.row)
  redis.call("ZADD", spawned, now, child.session)
  redis.call("HSET", k.ctl, "spawned_key", spawned)
  if child.thread ~= "" then
    redis.call("HSET", threads, child.thread, child.session)
    redis.call("HSET", k.row, "threadBinding", child.thread)
  end
  redis.call("ZADD", sessions, now, child.session)
  for _, entry in ipairs(child.entries) do
    redis.call("RPUSH", k.log, entry)
  end
  local id = child.message_id
  redis.call("HSET", k.ctl, "seq", 1)
  redis.call("ZADD", k.inbox, 1, '{"seq":1,"accepted_at":' .. now .. ',"mode":"followup","debounce_ms":0,'
    .. string.sub(child.message, 2))
  receipt(k.receipts, { id = id, seq = 1, accepted_at = now }, "accepted", nil, now)
  event(k.events, k.ctl, now, "message.accepted", { id = id, seq = 1, mode = "followup", run = child.run }, true)
end

-- Batches of these children, by key. Each is written once, after its last child, because its lists are long.
local joined = {}

-- Add a child to its batch, which the first one starts; returns the child's index in it.
local function join(k, child)
  local batch = joined[k.batch]
  if not batch then
    local known = fields(k.batch, "members", "cleanup", "member_keys")
    batch = { child = child, members = cjson.decode(known.members or "[]"),
    cleanup = cjson.decode(known.cleanup or "[]"),
      records = cjson.decode(known.member_keys or "[]") }
    joined[k.batch] = batch
    if redis.call("ZADD", batches, now, child.batch) == 1 then
      count_batch(parent_key, 1)
    end
  end
  local place = #batch.members
  batch.members[place + 1], batch.records[place + 1] = child.run, k.run
  batch.cleanup[place + 1] = { child.session, child.cleanup_ms }
  redis.call("SADD", k.open, child.run)
  return place
end

local function write_batches()
  for key, batch in pairs(joined) do
    local child = batch.child
    redis.call("HSET", key, "id", child.batch, "state", "running", "mode", child.mode, "created_at", now,
      "parent_session", parent, "parent_session_id", parent_session_id, "parent_run", parent_run,
      "root", child.record.root_session_key, "above", about.spawnedBy or "", "above_id", about.parentSessionId or "",
      "batches_key", batches, "parent_run_key", parent_key, "members", cjson.encode(batch.members),
      "member_keys", cjson.encode(batch.records), "cleanup", cjson.encode(batch.cleanup), "tries", 0,
      "v", SCHEMA)
  end
end

local function register(k, child)
  create_session(k, child)
  open_run(k.ctl, k.run, runs, due, child.session, child.run, "subagent", child.agent, now, 0, rewake_ms)
  local place = join(k, child)
  set_fields(k.run, child.record)
  redis.call("HSET", k.run, "batch", child.batch, "batch_index", place, "batch_key", k.batch, "open_key", k.open,
    "live_key", live,
    "tree_key", tree, "events_key", events, "ctl_key", ctl, "children_key", children, "parent_run_id", parent_run,
    "requester_session_key", parent, "requester_session_id", parent_session_id,
    "most_children", most_children, "most_tree", most_tree)
  local seq = spawn_place(ctl, live, now)
  redis.call("HSET", k.run, "spawn_seq", seq)
  redis.call("ZADD", children, seq, child.run)
  redis.call("PERSIST", children)
  redis.call("ZREMRANGEBYRANK", children, 0, -1001)
  redis.call("ZADD", live, seq, child.run)
  redis.call("ZADD", tree, now, child.run)
  event(events, ctl, now, "subagent.spawned", {
    run = child.run, session = child.session, label = child.record.label, batch = child.batch, parentRun = parent_run,
    depth = tonumber(child.record.depth), raw = metadata_of(child.record.metadata),
  })
  return place
end

local refused, answers = cjson.decode(redis.call("HGET", parent_key, "refused") or "{}"), {}
local refusals, percent = 0, lacks_memory(memory)
for i, child in ipairs(new_children) do
  local k = {}
  for n, name in ipairs(CHILD_KEYS) do
    k[name] = child_keys[#CHILD_KEYS * (i - 1) + n]
  end
  local place, answer = redis.call("HGET", k.run, "batch_index"), nil
  local siblings, all = redis.call("ZCARD", live), redis.call("ZCARD", tree)
  if place then
    answer = { "accepted", tonumber(place) }
  elseif refused[child.run] then
    answer = refused[child.run]
  elseif c.abort == parent_run then
    answer = { "cancelled" }
  elseif percent then
    answer = { "memory", percent }
  elseif siblings >= most_children then
    answer = { "children", siblings }
  elseif all >= most_tree then
    answer = { "tree", all }
  else
    answer = { "accepted", register(k, child) }
  end
  if answer[1] ~= "accepted" and not refused[child.run] then
    refused[child.run], refusals = answer, refusals + 1
  end
  answers[#answers + 1] = answer
end
write_batches()
if refusals > 0 then
  if percent then
    write_although_full(memory)
  end
  redis.call("HSET", parent_key, "refused", cjson.encode(refused))
end
return answers
