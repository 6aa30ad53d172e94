--[[
  The one check that a caller still owns its session.

  includes  hashes
]]
-- Rule 6: whether this lease, compared for equality, owns the session; and more fields of its control record.
local function check_lease(ctl, lease, ...)
  local c = fields(ctl, "lease", ...)
  return c.lease == lease, c
end
