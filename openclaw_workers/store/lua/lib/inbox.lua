--[[
  Which messages the next turn answers, and when it may start.

  includes  messages, schema
]]
-- What a message may ask of its turn, for that message alone.
local TERMS = { "model", "extra_system_prompt", "thinking", "context_tokens", "timeout_seconds" }
-- Whether a turn with the terms of one message suits another one.
local function keeps_terms(first, entry)
  for _, term in ipairs(TERMS) do
    if entry[term] and entry[term] ~= first[term] then
      return false
    end
  end
  return true
end

local function is_plain(entry)
  return entry.kind == "user" and entry.mode == "collect" and keeps_terms({}, entry)
end

local function merges(first, entry)
  return is_plain(first) and is_plain(entry) and entry.authority == first.authority and entry.address == first.address
end

-- Rule 10: the messages that the next turn answers: the head of the inbox, and what may be collected with it. Together
-- they are no larger than one message may be, because they become one entry, and Redis blocks while it handles that.
local COLLECTED_BYTES, READ_AT_ONCE = 1000000, 5
local function next_messages(inbox, most)
  local entries, raws, reach, size = {}, {}, 0, 0
  while true do
    local found = redis.call("ZRANGE", inbox, #raws, reach)
    for _, raw in ipairs(found) do
      local entry = read_message(raw)
      size = size + #raw
      if entries[1] and (size > COLLECTED_BYTES or is_newer(entry.v) or not merges(entries[1], entry)) then
        return entries, raws
      end
      entries[#entries + 1], raws[#raws + 1] = entry, raw
    end
    if #found == 0 or entries[1].mode ~= "collect" or #raws >= most then
      return entries, raws
    end
    reach = math.min(most, #raws + READ_AT_ONCE) - 1
  end
end

-- Collecting ends when no message came for the debounce time, and at the latest five times that after the first one.
local function debounce_ends_at(head, last_at, debounce_ms)
  return math.min(last_at + debounce_ms, head.accepted_at + 5 * debounce_ms)
end
