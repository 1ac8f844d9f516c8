--[[ keep-blob – keeps bytes that belong to a session, under the name that follows from them.
Why a script   the bytes and the index by which they are bounded and pruned must be there together or not at all.
KEYS[1] root      hash               KEYS[2] blobs    hash               KEYS[3] blob     string
ARGV[1] header    json:
  blob             its id
  mediaType        of the bytes
  bytesMost        all blobs of a session together may have
  countMost        how many a session may have
ARGV[2] body      the bytes
Returns {"ok", bytes} | {"not_found"} | {"full", bytes, count}: of all blobs of the session
Builds  nothing.
Events  none. ]]
local rootKey, blobsKey, blobKey = KEYS[1], KEYS[2], KEYS[3]
local header, body = readHeader(ARGV[1]), ARGV[2]
checkLast(body)
checkTexts(header, 'blob', 'mediaType')
checkNumbers(header, 'bytesMost', 'countMost')
checkSort('string', blobKey)

if not readFields(rootKey, 'kind')[1] then return { 'not_found' } end -- guard: nothing is kept of a session that is gone
local known = readFields(blobsKey, header.blob, 'bytes')
checkCount(blobsKey, 'bytes', known[2])
local held, size = tonumber(known[2] or 0), #body
local added = known[1] and 0 or size -- guard: a blob that is there counts once
local count = math.max(0, redis.call('HLEN', blobsKey) - 1)
if held + added > header.bytesMost or (not known[1] and count >= header.countMost) then return { 'full', held, count } end -- guard: blobs of a session are bounded

redis.call('SET', blobKey, body)
redis.call('HSET', blobsKey, header.blob, digits(size) .. ' ' .. header.mediaType, 'bytes', digits(held + added))
return { 'ok', held + added }
