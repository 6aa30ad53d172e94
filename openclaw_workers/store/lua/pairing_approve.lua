--[[
  Let a person, a group or a member of a group in.

  includes  clock, schema

  keys
    admitted  hash  who was let in: subject -> JSON
    pending   hash  requests that nobody has decided on: subject -> JSON
    refusals  hash  who was refused: subject -> JSON
    refused   zset  subject -> when it was last refused
  args
    subject     text    who is let in
    code        text    the code of the request; empty if the subject was named itself
    about       json    what is known about the subject
    is_person   flag    whether this gives access to direct chats
    has_owner   flag    whether the configuration names an owner
    may_share   flag    whether another person may be in the same conversation
    has_other   flag    whether the configuration lets in another person
    same        json    subjects that are this person too, a list

  Returns  {"approved", 1 if it is an owner}   also if it was let in before
           {"expired"}                        there is no such request, or no longer
           {"second", subject or ""}          another person is in the conversation already

  Invariant
    Of people who are approved at the same time, one becomes owner, and only if there is none. A second person enters a
    shared conversation only if that is allowed. A repeat gets the first answer.
]]
local now = now_ms()

local function forget_request()
  redis.call("HDEL", pending, subject)
  redis.call("HDEL", refusals, subject)
  redis.call("ZREM", refused, subject)
end

local known = redis.call("HGET", admitted, subject)
if known then
  forget_request()
  return { "approved", cjson.decode(known).owner and 1 or 0 }
end
local request = redis.call("HGET", pending, subject)
request = request and cjson.decode(request) or nil
if code ~= "" and not (request and request.code == code and request.expiresAt > now) then
  return { "expired" }
end

local is_same = { [subject] = true }
for _, each in ipairs(same) do
  is_same[each] = true
end
local owned, other = has_owner, nil
local all = redis.call("HGETALL", admitted)
for i = 1, #all, 2 do
  local one = cjson.decode(all[i + 1])
  owned = owned or one.owner
  if one.kind == "person" and not is_same[all[i]] then
    other = all[i]
  end
end
-- Both would share one conversation, and each would read what the agent knows of the other.
if is_person and not may_share and (has_other or other) then
  return { "second", other or "" }
end

local owner = is_person and not owned
about.owner, about.approvedAt, about.v = owner or nil, now, SCHEMA
redis.call("HSET", admitted, subject, cjson.encode(about))
forget_request()
return { "approved", owner and 1 or 0 }
