--[[
  Reading and writing hashes by field name, and lists that are stored as JSON.
]]
-- The fields of a hash by their names; nil where there is none.
local function fields(key, ...)
  local names, values, found = { ... }, redis.call("HMGET", key, ...), {}
  for i, name in ipairs(names) do
    found[name] = values[i] or nil
  end
  return found
end

-- Set several fields in one command.
local function set_fields(key, values)
  local flat = {}
  for field, value in pairs(values) do
    flat[#flat + 1], flat[#flat + 2] = field, value
  end
  if #flat > 0 then
    redis.call("HSET", key, unpack(flat))
  end
end

-- Set fields, and clear those whose new value is empty.
local function change_fields(key, changes)
  local set, cleared = {}, {}
  for field, value in pairs(changes) do
    if value == "" then
      cleared[#cleared + 1] = field
    else
      set[field] = value
    end
  end
  set_fields(key, set)
  if #cleared > 0 then
    redis.call("HDEL", key, unpack(cleared))
  end
end

-- A list as JSON; cjson would make an object of an empty one.
local function list_of(items)
  return #items > 0 and cjson.encode(items) or "[]"
end

-- The strings of a list that is stored as JSON; none if it cannot be read.
local function texts_in(raw)
  local ok, list = pcall(cjson.decode, raw or "[]")
  local texts = {}
  for _, text in ipairs(ok and type(list) == "table" and list or {}) do
    texts[#texts + 1] = type(text) == "string" and text or nil
  end
  return texts
end

-- Keys in a list that a record holds as JSON; none if it cannot be read.
local function keys_in(record, field)
  local ok, keys = pcall(cjson.decode, redis.call("HGET", record, field) or "[]")
  return ok and type(keys) == "table" and keys or {}
end
