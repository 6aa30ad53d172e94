--[[
  Messages to chats. The script that causes one writes it, and a sender sorts it by route later (lib/outbox.lua).

  includes  schema
]]
-- Put one message into the outbox. Its id is derived from its cause, so a second one with that id is dropped.
local function put_outgoing(outgoing, now, message)
  message.v = SCHEMA
  redis.call("XADD", outgoing, "*", "at", now, "message", cjson.encode(message))
end

-- The routes of these messages whose channel pushes, each once, in the order in which people wrote. `policies` has a
-- field for each such channel. `reply_to` is what the last message there says it can be answered by.
local function pushing_routes(policies, entries)
  local routes, known = {}, {}
  for _, entry in ipairs(next(policies) and entries or {}) do
    local route = type(entry.route) == "table" and entry.route or {}
    if policies[route.channel] then
      if not known[entry.address] then
        known[entry.address] = { route = route }
        routes[#routes + 1] = known[entry.address]
      end
      known[entry.address].reply_to = entry.metadata.replyTo
    end
  end
  return routes
end

-- Where a session was last spoken to, as a list of one route, or of none if that channel does not push.
local function last_route(policies, row)
  if not next(policies) then
    return {}
  end
  local r = redis.call("HMGET", row, "lastChannel", "lastTo", "lastAccountId", "lastThreadId")
  local route = { channel = r[1] or "", to = r[2] or "", account_id = r[3] or "", thread_id = r[4] or "" }
  return policies[route.channel] and { { route = route } } or {}
end

-- Send messages {key, kind, text, always} to each of these routes. The session's own choice (`sendPolicy` of its row)
-- wins over `policies`, which is what the rules say of each channel; a message with `always` asks neither. `about` has
-- id (what every id begins with), session and run. Returns how many were put, and how many replies were held back.
local function send_to(outgoing, row, policies, routes, messages, about, now)
  local own = #routes > 0 and #messages > 0 and redis.call("HGET", row, "sendPolicy")
  local put, suppressed = 0, 0
  for index, to in ipairs(routes) do
    for _, message in ipairs(messages) do
      if message.always or (own or policies[to.route.channel]) == "allow" then
        local place = index > 1 and "-" .. index or ""
        put_outgoing(outgoing, now, {
          id = about.id .. "-" .. message.key .. place, kind = message.kind, text = message.text, route = to.route,
          replyTo = to.reply_to, sessionKey = about.session, runId = about.run,
        })
        put = put + 1
      elseif message.key == "reply" then
        suppressed = suppressed + 1
      end
    end
  end
  return put, suppressed
end
