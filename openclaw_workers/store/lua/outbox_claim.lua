--[[
  Claim routes with messages to send, for the accounts that a sender serves.

  includes  clock, outbox

  keys
    outgoing         stream  new messages to chats
    outbox_entries   hash    start of the key of a message
    outbox_parts     list    start of the key of its parts
    outbox_files     list    start of the key of a file
    outbox_routes    list    start of the key of a route
    outbox_ready     zset    start of the key of an account's routes
    outbox_owners    hash    route -> token of the sender that holds it
    outbox_waiting   zset    messages that wait
    outbox_sent      zset    messages that were sent or dropped
    outbox_kept      zset    messages that are unknown or failed
    outbox_senders   zset    account -> when a sender last looked
  args
    token      text    token of this claim
    lease_ms   number  how long a claim holds
    most       number  most routes to claim
    accounts…  text    for each account two: its name, 1 if its channel dedupes sends

  Returns  {milliseconds until a route is ready or -1, 1 if new messages are left to sort, for each claimed route:
            {address, message id, its fields as a flat list, its parts}}

  Invariant
    A route has one sender. Messages of a route are sent in the order of their causes. A part that was being sent when
    its sender was lost is not sent again, unless the channel dedupes sends (rule 17). A part that is unknown, or a
    message that failed, does not hold up those behind it.
]]
local box = { new = outgoing, entry = outbox_entries, parts = outbox_parts, file = outbox_files, route = outbox_routes,
  ready = outbox_ready, owners = outbox_owners, waiting = outbox_waiting, sent = outbox_sent, kept = outbox_kept }
local LONGEST_PAUSE_MS = 86400000
local now = now_ms()
local more, soonest, claimed = sort_new(box), -1, {}

-- A time beyond what leases and pauses allow was written before the clock stepped back (rule 7).
local function mend_times(ready)
  local last = redis.call("ZRANGE", ready, -1, -1, "WITHSCORES")
  while last[1] do
    local longest = redis.call("HEXISTS", outbox_owners, last[1]) == 1 and lease_ms or LONGEST_PAUSE_MS
    if tonumber(last[2]) <= now + longest then
      return
    end
    redis.call("ZADD", ready, now, last[1])
    last = redis.call("ZRANGE", ready, -1, -1, "WITHSCORES")
  end
end

local function claim(account, dedupes)
  local ready = outbox_ready .. account
  mend_times(ready)
  for _, address in ipairs(redis.call("ZRANGEBYSCORE", ready, "-inf", now, "LIMIT", 0, most - #claimed)) do
    local id = head_of(box, address, dedupes, now)
    if id then
      redis.call("HSET", outbox_owners, address, token)
      redis.call("ZADD", ready, now + lease_ms, address)
      local item = item_of(box, id)
      claimed[#claimed + 1] = { address, item[1], item[2], item[3] }
    else
      leave_route(box, address, account, now)
    end
  end
  local following = redis.call("ZRANGE", ready, 0, 0, "WITHSCORES")[2]
  local left = following and math.max(0, tonumber(following) - now)
  soonest = left and (soonest < 0 or left < soonest) and left or soonest
end

for i = 1, #accounts, 2 do
  redis.call("ZADD", outbox_senders, now, accounts[i])
  claim(accounts[i], accounts[i + 1] == "1")
end
return { soonest, more and 1 or 0, claimed }
