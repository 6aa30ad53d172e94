--[[
  Places: the directory that holds the files of an agent, and whether a worker that takes turns sees it. An agent is
  bound to one place. Instead of an id, a binding holds `moving …` while the files are moved.

  includes  events, outgoing
]]
local PLACE_ALIVE_MS = 10000
-- The queue for wake-ups of an agent. Where a live worker does not see the place of the agent, the workers that see it
-- have a queue of their own.
local function queue_for(queue, places, apart, agent)
  local place = redis.call("ZSCORE", apart, agent) and redis.call("HGET", places, agent)
  return place and not string.find(place, "^moving ") and queue .. "@" .. place or queue
end

-- The place of an agent if no worker that takes turns sees it, and when one last did.
local function lost_place(places, seen, agent, now)
  local place = redis.call("HGET", places, agent)
  local seen_at = place and tonumber(redis.call("ZSCORE", seen, place) or nil)
  if not place or (seen_at and math.abs(now - seen_at) < PLACE_ALIVE_MS) then
    return nil
  end
  return place, math.min(seen_at or now, now)
end

-- A run waits for its place. Viewers and chats get one notice. `about` has session, run and agent, and where a worker
-- last saw the place.
local function wait_for_place(keys, place, seen_at, routes, delivery, about, now)
  local waits = keys.waits_prefix .. place
  redis.call("SADD", waits, about.session)
  if (redis.call("HGET", keys.ctl, "waits_at") or "") ~= "" then
    return
  end
  local where = redis.call("HGET", keys.where, place) or place
  redis.call("HSET", keys.ctl, "waits_at", seen_at, "waits_for", where)
  redis.call("HSET", keys.run_key, "waits_for", where)
  event(keys.events, keys.ctl, now, "run.waiting", { run = about.run, agent = about.agent, place = where })
  local notices = {}
  for _, message in ipairs(delivery.messages) do
    if message.key == "place" then
      message.text = string.gsub(message.text, "@PLACE@", (string.gsub(where, "%%", "%%%%")))
      notices[#notices + 1] = message
    end
  end
  send_to(keys.outgoing, keys.row, delivery.policies, routes, notices,
    { id = "out-" .. about.run, session = about.session, run = about.run }, now)
end

-- Look now at sessions that wait for a place, because a worker sees it.
local WOKEN_AT_ONCE = 100
local function wake_waiting_at(waits_prefix, place, due, now)
  local waits = waits_prefix .. place
  for _, session in ipairs(redis.call("SPOP", waits, WOKEN_AT_ONCE)) do
    redis.call("ZADD", due, now, "turn|" .. session)
  end
end
