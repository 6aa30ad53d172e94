--[[
  Exchange a login code for a browser session, once.

  keys
    code     string  token id for which the code was made
    session  string  token id of the browser session to open
  args
    keep_s  number  seconds after which the browser session ends

  Returns  {"ok", token id}
           {"unknown"}   there is no such code, or it was used

  Invariant
    A code opens one session. A repeat for the same session returns the first answer.
]]
local opened = redis.call("GET", session)
if opened then
  return { "ok", opened }
end
local token = redis.call("GET", code)
if not token then
  return { "unknown" }
end
redis.call("DEL", code)
redis.call("SET", session, token, "EX", keep_s)
return { "ok", token }
