/**
 * Duty: read the mails that wait for a worker, lane by lane. It never writes.
 * LANE-ROWS-1 A lane is read in pieces (redis/large-keys.ts): no read holds Redis for long.
 */
import { callOfHeadAlone, type Lane, lanes } from '../../core/worker/message/message.ts'
import type { workerKeys } from '../keys.ts'
import { takenField } from '../record/worker-record.ts'
import { firstPiece, pieceLike } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'

export interface LaneRow {
  readonly lane: Lane
  /** How many mails of this lane were consumed. That is the position of the first one here. */
  readonly first: number
  /** A mail that was consumed before an earlier one is empty. */
  readonly mails: readonly string[]
}

type Keys = ReturnType<typeof workerKeys>

const largeAtOnce = 4

/** The mails of each lane, in the order in which the worker receives them; at most `limit` of each. */
export async function laneRowsOf(redis: Redis, keys: Keys, limit: number): Promise<LaneRow[]> {
  const rows = await Promise.all(lanes.map((lane) => laneRow(redis, keys, lane, limit)))
  return Promise.all(rows.map((row) => withLarge(redis, keys.large, row)))
}

async function laneRow(redis: Redis, keys: Keys, lane: Lane, limit: number): Promise<LaneRow> {
  const field = takenField[lane]
  const mails: string[] = []
  let [first, taken, bytes, count] = [0, 0, 0, firstPiece]
  for (;;) {
    count = Math.min(count, limit - mails.length)
    // Of a count that another program wrote over nothing follows.
    const at = mails.length === 0 ? 0 : mails.length + (first - taken || 0)
    // This is no transaction, because a full Redis refuses every command of one.
    const reading = redis
      .pipeline()
      .hget(keys.record, field)
      .lrange(keys[lane], at, at + count - 1)
    const [before, texts, after] = ((await reading.hget(keys.record, field).exec()) ?? []).map(([error, reply]) => {
      if (error) throw error
      return reply
    }) as [string | null, string[], string | null]
    const now = Number(before ?? 0)
    const isMoved = before !== after || (mails.length > 0 && !Object.is(now, taken))
    taken = now
    // If a mail was consumed in between, what was read stands elsewhere: this reads the piece again. What is behind it may have gone as well.
    if (isMoved && first + mails.length < taken) mails.length = 0
    if (isMoved) continue
    if (mails.length === 0) first = taken
    for (const text of texts) {
      mails.push(text)
      bytes += text.length
    }
    if (texts.length < count || mails.length >= limit) return { lane, first, mails }
    count = pieceLike({ count: mails.length, bytes })
  }
}

/** Replaces the heads of large results by the results; a result that was received in between is left out. */
async function withLarge(redis: Redis, large: string, { lane, first, mails }: LaneRow): Promise<LaneRow> {
  const calls = mails.map((text) => callOfHeadAlone(lane, text))
  const wanted = calls.filter((call) => call !== undefined)
  const found = new Map<number, string>()
  for (let from = 0; from < wanted.length; from += largeAtOnce) {
    const some = wanted.slice(from, from + largeAtOnce)
    const texts = await redis.hmget(large, ...some.map(String))
    for (const [index, call] of some.entries()) found.set(call, texts[index] ?? '')
  }
  return { lane, first, mails: mails.map((text, index) => found.get(calls[index] ?? -1) ?? text) }
}
