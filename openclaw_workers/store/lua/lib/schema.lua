--[[
  The form of stored records. Every record carries it as `v`, so that a later version can tell how to read it.
]]
local SCHEMA = 1
-- Whether newer code wrote a record. This version might misread it.
local function is_newer(form)
  return (tonumber(form) or 0) > SCHEMA
end
