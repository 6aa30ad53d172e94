--[[
  The form of stored records. Every record carries it as `v`, so that a later version can tell how to read it.
]]
local SCHEMA = 1
