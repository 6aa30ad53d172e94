--[[
  Give an unknown sender a pairing code.

  includes  clock, schema

  keys
    pending  hash  requests that nobody has decided on: subject -> JSON
  args
    subject     text    the sender
    prefix      text    start of all subjects of the same account
    code        text    code for a new request
    most        number  most requests of one account
    keep_ms     number  how long a code is valid
    quiet_ms    number  how long the sender does not get the same code again
    message     text    id of the sender's message; the same each time the channel delivers it
    about       json    what is known about the sender

  Returns  {"pending", code, 1 if the sender is to get it now}
           {"full"}   the account has as many requests as it may
           {"taken"}  another request has this code

  Invariant
    A sender has at most one request, an account at most `most`, and a code names one request. Expired requests do not
    count. A message that is delivered again gets the first answer.
]]
local now = now_ms()

local here, codes, mine = 0, {}, nil
local all = redis.call("HGETALL", pending)
for i = 1, #all, 2 do
  local ok, request = pcall(cjson.decode, all[i + 1])
  -- Fields of a hash do not expire by themselves, and this script is the only one that adds any.
  if not ok or request.expiresAt <= now then
    redis.call("HDEL", pending, all[i])
  elseif all[i] == subject then
    mine = request
  else
    codes[request.code] = true
    here = here + (string.sub(all[i], 1, #prefix) == prefix and 1 or 0)
  end
end

if mine then
  local again = mine.message == message
  local tell = again or now - mine.sentAt >= quiet_ms
  if tell and not again then
    mine.sentAt, mine.message = now, message
    redis.call("HSET", pending, subject, cjson.encode(mine))
  end
  return { "pending", mine.code, tell and 1 or 0 }
end
if here >= most then
  return { "full" }
end
if codes[code] then
  return { "taken" }
end
about.code, about.requestedAt, about.expiresAt = code, now, now + keep_ms
about.sentAt, about.message, about.v = now, message, SCHEMA
redis.call("HSET", pending, subject, cjson.encode(about))
return { "pending", code, 1 }
