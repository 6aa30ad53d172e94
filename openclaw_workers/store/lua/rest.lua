--[[
  Note that the owner of a running turn asks no model while it waits for its turn to; or that it is about to ask one.

  KEYS[1]  session ctl       hash
  KEYS[2]  run               hash

  ARGV[1]  lease
  ARGV[2]  1 if it rests from now on, 0 if it asks next

  Returns  {"ok"} | {"lost"}

  Invariant
    An owner that dies while it rests leaves no call behind (rule 14). One that was taken for dead meanwhile is told so
    before it asks: nobody would book what it asks then.
]]
local lease, rests = ARGV[1], ARGV[2] == "1"
if redis.call("HGET", KEYS[1], "lease") ~= lease then
  return { "lost" }
end
redis.call("HSET", KEYS[2], "resting", rests and string.match(lease, "^%d+") or "")
return { "ok" }
