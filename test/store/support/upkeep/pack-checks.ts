/** Short checks of packed histories, which run against scripts without one guard. */
import { expect } from 'vitest'
import { HistoryPacker } from '../../../../src/store/history/history-packer.ts'
import { readEntries } from '../../../../src/store/history/read-entries.ts'
import { coldScript, packScript } from '../../../../src/store/script/scripts.ts'
import { commandsNaming } from '../../../support/redis/watched-commands.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

/** Entries that were written long ago: the oldest first. */
export function oldEntries(count: number, text = 'It was said more than once, and nothing new came of it.'): string[] {
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({ type: 'inbox', v: 1, at: 1_000 + index, id: `m${index}`, content: `${index}: ${text}` }),
  )
}

export interface Rested {
  readonly id: string
  readonly root: string
  readonly log: string
  readonly record: string
  readonly entries: readonly string[]
}

/** A conversation that rests, with these entries. */
export async function rested(place: Place, entries = oldEntries(6), label = 'one'): Promise<Rested> {
  const { id, root } = await place.create({ mode: 'conversation', history: entries, rests: true, label })
  const { log, record } = place.workerKeys(root)
  return { id, root, log, record, entries }
}

/** A session that has ended. */
export async function ended(place: Place, entries: readonly string[], label: string): Promise<Rested> {
  const { id, root } = await place.create({ history: entries, label })
  await (await place.node().claim()).complete({ entries: oldEntries(2) })
  const { log, record } = place.workerKeys(root)
  // The session ended an hour ago.
  await place.redis.zadd(place.keys.ends, 'XX', (await place.now()) - 3_600_000, id)
  return { id, root, log, record, entries: [...entries, ...oldEntries(2)] }
}

export function packer(place: Place, nodeId = 'node-a', policy: Partial<Place['policy']> = {}): HistoryPacker {
  const { caller, keys } = place
  return new HistoryPacker({
    redis: place.wire.face,
    caller,
    keys,
    nodeId,
    policy: { ...place.policy, coldEveryMs: 0, ...policy },
  })
}

/** A whole walk; returns how many histories it has packed. */
export async function walk(place: Place, nodeId?: string, policy?: Partial<Place['policy']>): Promise<number> {
  const one = packer(place, nodeId, policy)
  for (let packed = 0; ; ) {
    const found = await one.packSome()
    packed += found.packed
    if (found.done) return packed
  }
}

/** How many elements of a history are entries as they were written. */
export async function raw(place: Place, { log }: Pick<Rested, 'log'>): Promise<number> {
  const elements = await place.redis.lrange(log, 0, -1)
  return elements.filter((element) => element.startsWith('{')).length
}

export const entriesOf = (place: Place, { log }: Pick<Rested, 'log'>) => readEntries(place.redis, log, 0, -1)

export async function pack(
  place: Place,
  { record, log }: Rested,
  order: { from: number; packed: number; entries: number },
): Promise<unknown> {
  const args = { ...order, pack: `z${order.entries} 9 made up`, newest: `${order.entries - 1}` }
  const [answer] = await place.caller.call(packScript, { record, log }, args, { deadlineMs: place.deadlineMs })
  return answer
}

/** A batch of one worker of the walk. */
export async function cold(
  place: Place,
  node: string,
  from = '',
  everyMs = 60_000,
  restMs = 0,
): Promise<[next: string, found: unknown[]]> {
  const args = { node, done: from, coldMs: 600_000, everyMs, restMs, batch: 1, growsTo: 65_536 }
  const { ends, meta } = place.keys
  const reply = await place.caller.call(coldScript, { ends, meta }, args, { deadlineMs: place.deadlineMs })
  return reply as [string, unknown[]]
}

export const nothingIsPackedOfAWorkerThatIsGone: Check = async (place) => {
  const one = await rested(place)
  await place.redis.del(one.record)
  expect(await pack(place, one, { from: 0, packed: 0, entries: 6 })).toBe('moved')
  expect(await raw(place, one)).toBe(6)
}

export const nothingIsPackedOfAWorkerThatMayRun: Check = async (place) => {
  const one = await rested(place)
  await place.post(one.root, 'go on')
  expect(await pack(place, one, { from: 0, packed: 0, entries: 6 })).toBe('busy')
  expect(await raw(place, one)).toBe(6)
}

export const aPackTakesThePlaceOfWhatItsMakerRead: Check = async (place) => {
  const one = await rested(place)
  expect(await pack(place, one, { from: 0, packed: 0, entries: 4 })).toBe('packed')
  // Somebody else had begun at the same time, and had read further.
  expect(await pack(place, one, { from: 0, packed: 0, entries: 5 })).toBe('moved')
  expect(await pack(place, one, { from: 0, packed: 3, entries: 5 })).toBe('moved')
  expect(await raw(place, one)).toBe(2)
  expect(await pack(place, one, { from: 0, packed: 4, entries: 5 })).toBe('packed')
}

export const aPackSentAgainIsTheSame: Check = async (place) => {
  const one = await rested(place)
  const order = { from: 0, packed: 0, entries: 4 }
  expect([await pack(place, one, order), await pack(place, one, order)]).toEqual(['packed', 'packed'])
}

export const whatIsPackedIsPackedOnce: Check = async (place) => {
  const one = await rested(place)
  expect(await pack(place, one, { from: 0, packed: 0, entries: 4 })).toBe('packed')
  const before = await place.redis.lrange(one.log, 0, -1)
  expect(await pack(place, one, { from: 0, packed: 4, entries: 3 })).toBe('moved')
  expect(await pack(place, one, { from: 4, packed: 0, entries: 3 })).toBe('moved')
  expect(await place.redis.lrange(one.log, 0, -1)).toEqual(before)
}

export const aYoungHistoryIsNotPacked: Check = async (place) => {
  const young = { type: 'inbox', v: 1, at: (await place.now()) - 60_000, id: 'm9', content: 'just now' }
  const one = await rested(place, [...oldEntries(5), JSON.stringify(young)])
  await walk(place)
  expect(await raw(place, one)).toBe(6)
  await walk(place, undefined, { coldAfterMs: 30_000 })
  expect(await raw(place, one)).toBe(0)
}

export const aWalkPassesOverWorkersThatMayRun: Check = async (place) => {
  const one = await rested(place)
  await place.post(one.root, 'go on')
  await packer(place).packSome()
  expect(place.wire.last.reply[1]).toEqual([])
}

export const oneNodeMakesAWalk: Check = async (place) => {
  for (const label of ['one', 'two']) await rested(place, oldEntries(4), label)
  const [next, found] = await cold(place, 'node-a')
  expect(found).toHaveLength(1)
  expect(await cold(place, 'node-b')).toEqual(['', []])
  expect((await cold(place, 'node-a', next))[1]).toHaveLength(1)
}

export const aWalkReadsNoListOfWorkersForNothing: Check = async (place) => {
  for (const label of ['one', 'two']) {
    const { id, root } = await rested(place, oldEntries(4), label)
    await place.redis.rpush(place.sessionKeys(id).workers, `${root.slice(0, -2)}10`)
  }
  const batch = () => packer(place, 'node-a', { sweepBatch: 2 }).packSome()
  // One session is all of it: a list may be long.
  const read = (await commandsNaming(place.redis, `${place.keys.tag}:s:`, batch)).filter(
    ({ name }) => name === 'lrange',
  )
  expect(read.map(({ args }) => args.slice(1))).toEqual([['0', '1']])
}

export const walksAreASmallPartOfTheTime: Check = async (place) => {
  await rested(place)
  expect(await cold(place, 'node-a', 'end 0', 0, 60_000)).toEqual(['', []])
  expect(await cold(place, 'node-b', '', 0)).toEqual(['', []])
  await place.redis.hset(place.keys.meta, 'coldAt', (await place.now()) - 61_000)
  expect((await cold(place, 'node-b', '', 0))[1]).toHaveLength(1)
}

export const aWalkOutlivesItsNode: Check = async (place) => {
  for (const label of ['one', 'two', 'three']) await rested(place, oldEntries(4), label)
  const [afterOne] = await cold(place, 'node-a')
  const second = await cold(place, 'node-a', afterOne)
  // It dies, and never says that it has packed what the second call found.
  expect(await cold(place, 'node-b', '', 0)).toEqual(second)
}

export const aWalkGoesOnBehindWhatItHasPacked: Check = async (place) => {
  const one = await ended(place, oldEntries(4), 'one')
  expect(await walk(place)).toBe(1)
  expect(await raw(place, one)).toBe(0)
  // It is not looked at again: what another program does to it stays.
  await place.redis.del(one.log)
  await place.redis.rpush(one.log, ...one.entries)
  const two = await ended(place, oldEntries(3), 'two')
  await place.redis.zadd(place.keys.ends, 'XX', (await place.now()) - 1_800_000, two.id)
  expect(await walk(place)).toBe(1)
  expect([await raw(place, one), await raw(place, two)]).toEqual([6, 0])
}

/** A node stood still in its walk. Meanwhile another node packed what the first had found, and the workers went on. */
export const whatANodeFoundLongAgoIsNotPackedAnew: Check = async (place) => {
  const all: Rested[] = []
  for (let number = 0; number < 9; number++) all.push(await rested(place, oldEntries(6), `c${number}`))
  await walk(place)
  const write = (texts: readonly string[]) => Promise.all(all.map(({ log }) => place.redis.rpush(log, ...texts)))
  const [more, last] = [oldEntries(3, 'said meanwhile'), oldEntries(4, 'said at last')]
  await write(more)
  const slow = packer(place, 'node-a', { packMs: 0 })
  expect(await slow.packSome()).toEqual({ packed: 8, done: false })
  expect(await walk(place, 'node-b')).toBe(1)
  await write(last)
  await slow.packSome()
  for (const one of all) expect(await entriesOf(place, one)).toEqual([...one.entries, ...more, ...last])
}
