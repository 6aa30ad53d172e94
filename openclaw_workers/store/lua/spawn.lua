--[[
  Register the children that one assistant message asks for: count, create, queue and batch them in one moment.

  KEYS[1]  parent's row       hash
  KEYS[2]  parent's ctl       hash
  KEYS[3]  parent's events    stream
  KEYS[4]  its unfinished batches   zset
  KEYS[5]  all its children   zset
  KEYS[6]  its unsettled children   zset
  KEYS[7]  unsettled runs of the tree   zset
  KEYS[8]  due                zset
  KEYS[9]  sessions           zset
  KEYS[10] runs               zset
  KEYS[11] threads            hash
  KEYS[12] parent's run       hash
  KEYS[13] memory             hash
  KEYS[14] for each child eleven, from KEYS[14] on: row, ctl, inbox, receipts, receipt ages, events, transcript, files,
           run, its batch and the batch's open runs

  ARGV[1]  parent's lease
  ARGV[2]  parent's run
  ARGV[3]  parent's session key
  ARGV[4]  most unsettled children of one session
  ARGV[5]  most unsettled runs of the tree
  ARGV[6]  milliseconds until a wake-up counts as lost
  ARGV[7]  how many children follow; then for each, from ARGV[8] on, a JSON object: run, session, session_id, agent, message_id,
           message (text of a JSON object, without its place), row and record (objects of strings), entries (transcript to begin with), files, batch,
           mode, cleanup_ms (-1 for never), thread (address it is bound to, or "")

  Returns  {"lost"}, or a list with for each child
           {"accepted", place in its batch} | {"children", how many there are} | {"tree", how many} | {"cancelled"}
           {"memory", how full Redis is in per cent}

  Invariant
    Limits hold whoever spawns at the same time. Nothing is spawned under a run that is to stop (rule 12). A repeat finds
    its children registered, or refused, and changes nothing (rules 3, 13): by then there may be room again, and the batch
    that one more would join may be announced.
]]
local row, ctl, events, batches, children, live, tree = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local due, sessions, runs, threads = KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local lease, parent_run, parent, rewake_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[6])
local most_children, most_tree, count = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local parent_key = KEYS[12]
local first_key, first_child = 14, 8
local keys_each = 11
local now = now_ms()

local c = redis.call("HMGET", ctl, "lease", "abort")
if c[1] ~= lease then
  return { "lost" }
end
local about = redis.call("HMGET", row, "sessionId", "spawnedBy", "parentSessionId")
local parent_session_id = about[1]

local function create_session(k, child)
  redis.call("HSET", k[1], "sessionKey", child.session, "agentId", child.agent, "sessionId", child.session_id,
    "createdAt", now, "updatedAt", now, "sessionStartedAt", now, "lastInteractionAt", now)
  set_fields(k[1], child.row)
  if child.thread ~= "" then
    redis.call("HSET", threads, child.thread, child.session)
    redis.call("HSET", k[1], "threadBinding", child.thread)
  end
  redis.call("ZADD", sessions, now, child.session)
  for _, entry in ipairs(child.entries) do
    redis.call("RPUSH", k[7], entry)
  end
  set_fields(k[8], child.files)
  local id = child.message_id
  redis.call("HSET", k[2], "seq", 1)
  redis.call("ZADD", k[3], 1, '{"seq":1,"accepted_at":' .. now .. ',"mode":"followup","debounce_ms":0,'
    .. string.sub(child.message, 2))
  receipt(k[4], { id = id, seq = 1, accepted_at = now }, "accepted", nil, now)
  redis.call("ZADD", k[5], now, id)
  event(k[6], k[2], now, "message.accepted", { id = id, seq = 1, mode = "followup", run = child.run }, true)
end

-- Batches of these children, by key. Each is written once, after its last child: their lists are long.
local joined = {}

-- Let the child join its batch, begun by the first of them; returns the child's place in it.
local function join(k, child)
  local batch = joined[k[10]]
  if not batch then
    local known = redis.call("HMGET", k[10], "members", "cleanup", "k_members")
    batch = { child = child, members = cjson.decode(known[1] or "[]"), cleanup = cjson.decode(known[2] or "[]"),
      records = cjson.decode(known[3] or "[]") }
    joined[k[10]] = batch
    if redis.call("ZADD", batches, now, child.batch) == 1 then
      count_batch(parent_key, 1)
    end
  end
  local place = #batch.members
  batch.members[place + 1], batch.records[place + 1] = child.run, k[9]
  batch.cleanup[place + 1] = { child.session, child.cleanup_ms }
  redis.call("SADD", k[11], child.run)
  return place
end

local function write_batches()
  for key, batch in pairs(joined) do
    local child = batch.child
    redis.call("HSET", key, "id", child.batch, "state", "running", "mode", child.mode, "created_at", now,
      "parent_session", parent, "parent_session_id", parent_session_id, "parent_run", parent_run,
      "root", child.record.root_session_key, "above", about[2] or "", "above_id", about[3] or "",
      "k_batches", batches, "k_parent_run", parent_key, "members", cjson.encode(batch.members),
      "k_members", cjson.encode(batch.records), "cleanup", cjson.encode(batch.cleanup), "tries", 0)
  end
end

local function register(k, child)
  create_session(k, child)
  open_run(k[2], k[9], runs, due, child.session, child.run, "subagent", child.agent, now, 0, rewake_ms)
  local place = join(k, child)
  set_fields(k[9], child.record)
  redis.call("HSET", k[9], "batch", child.batch, "batch_index", place, "k_batch", k[10], "k_open", k[11], "k_live", live,
    "k_tree", tree, "k_events", events, "k_ctl", ctl, "k_children", children, "parent_run_id", parent_run,
    "requester_session_key", parent, "requester_session_id", parent_session_id,
    "most_children", most_children, "most_tree", most_tree)
  local seq = spawn_place(ctl, live, now)
  redis.call("HSET", k[9], "spawn_seq", seq)
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
local refusals, percent = 0, lacks_memory(KEYS[13])
for i = 0, count - 1 do
  local child, k = cjson.decode(ARGV[first_child + i]), {}
  for n = 1, keys_each do
    k[n] = KEYS[first_key + keys_each * i + n - 1]
  end
  local place, answer = redis.call("HGET", k[9], "batch_index"), nil
  local siblings, all = redis.call("ZCARD", live), redis.call("ZCARD", tree)
  if place then
    answer = { "accepted", tonumber(place) }
  elseif refused[child.run] then
    answer = refused[child.run]
  elseif c[2] == parent_run then
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
    write_although_full()
  end
  redis.call("HSET", parent_key, "refused", cjson.encode(refused))
end
return answers
