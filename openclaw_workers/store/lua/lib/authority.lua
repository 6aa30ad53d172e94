--[[
  How far the sender of a message is trusted: anyone, authorized or owner. What says nothing counts as anyone. What
  follows from a message has no more authority than the message (rule 21).
]]
local AUTHORITY = { anyone = 1, authorized = 2, owner = 3 }

local function has_authority(authority, needed)
  return (AUTHORITY[authority] or 1) >= (AUTHORITY[needed] or 1)
end

local function lesser(one, other)
  return has_authority(one, other) and (other or "anyone") or (one or "anyone")
end
