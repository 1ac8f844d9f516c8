--[[ keep-blob – keeps bytes for a session, under a name that follows from them. The caller has sent them before, to a separate key.
Why a script   the bytes and the index by which they are bounded and pruned must be there together or not at all.
KEYS[1] root      hash               KEYS[2] blobs    hash               KEYS[3] blob     string
KEYS[4] sent      string
ARGV[1] header    json:
  blob             its id
  mediaType        of the bytes
  bytes            how many they are
  bytesMost        how many bytes all blobs of a session may have together
  countMost        how many blobs a session may have
Returns {"ok", bytes} | {"not_found"} | {"full", bytes, count}: of all blobs of the session | {"unsent"}: the bytes are missing
Builds  nothing.
Events  none. ]]
local rootKey, blobsKey, blobKey, sentKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local header = readHeader(ARGV[1])
checkTexts(header, 'blob', 'mediaType')
checkNumbers(header, 'bytes', 'bytesMost', 'countMost')
checkSort('string', blobKey, sentKey)

-- What is not kept goes at once.
local function withoutSent(...)
  redis.call('UNLINK', sentKey)
  return { ... }
end
if not readFields(rootKey, 'kind')[1] then return withoutSent('not_found') end -- guard: no blob is kept for a session that is gone
local known = readFields(blobsKey, header.blob, 'bytes')
checkCount(blobsKey, 'bytes', known[2])
local held, size = tonumber(known[2] or 0), header.bytes
if known[1] and redis.call('STRLEN', blobKey) == size then return withoutSent('ok', held) end -- guard: a blob that was kept need not be sent again
local added = known[1] and 0 or size -- guard: a blob that is there counts once
local count = math.max(0, redis.call('HLEN', blobsKey) - 1)
if held + added > header.bytesMost or (not known[1] and count >= header.countMost) then return withoutSent('full', held, count) end -- guard: blobs of a session are bounded
if redis.call('EXISTS', sentKey) == 0 or redis.call('STRLEN', sentKey) ~= size then return { 'unsent' } end -- guard: a blob is kept whole

redis.call('RENAME', sentKey, blobKey)
redis.call('PERSIST', blobKey) -- guard: a blob that is kept stays
redis.call('HSET', blobsKey, header.blob, digits(size) .. ' ' .. header.mediaType, 'bytes', digits(held + added))
return { 'ok', held + added }
