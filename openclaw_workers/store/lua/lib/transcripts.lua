--[[
  Reading and writing transcript entries.

  includes  schema
]]
-- The newest of these transcript entries, oldest first: as many as fit into an answer, and at least one. They are read
-- one by one, because Redis cannot tell the size of an entry in advance.
local ANSWER_BYTES = 512 * 1024
local function newest_entries(log, first, last)
  local entries, size = {}, 0
  for index = last, first, -1 do
    local entry = redis.call("LINDEX", log, index)
    size = size + #entry
    if size > ANSWER_BYTES and #entries > 0 then
      break
    end
    entries[#entries + 1] = entry
  end
  for index = 1, math.floor(#entries / 2) do
    local other = #entries + 1 - index
    entries[index], entries[other] = entries[other], entries[index]
  end
  return entries
end

-- The transcript entry that carries one or several messages to the model.
local function user_entry(entries, run, now, provenance, dropped)
  local content, ids, attached = {}, {}, {}
  if dropped and #dropped > 0 then
    local lines = { "[" .. #dropped .. " earlier message(s) were dropped because the queue was full]" }
    for _, line in ipairs(dropped) do
      lines[#lines + 1] = "- " .. line
    end
    content[#content + 1] = { type = "text", text = table.concat(lines, "\n") }
  end
  for index, entry in ipairs(entries) do
    local text = entry.text
    if #entries > 1 then
      local from = entry.sender ~= "" and " (from " .. entry.sender .. ")" or ""
      text = "Queued #" .. index .. from .. "\n" .. text
    end
    content[#content + 1] = { type = "text", text = text }
    ids[#ids + 1] = entry.id
    for _, file in ipairs(entry.attachments or {}) do
      attached[#attached + 1] = file
    end
  end
  return cjson.encode({
    v = SCHEMA, role = "user", content = content, timestamp = now, runId = run, messageIds = ids,
    provenance = provenance,
    attachments = #attached > 0 and attached or nil,
  })
end
