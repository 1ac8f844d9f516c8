/** Packed histories: every reader finds what was written, whatever is packed; and what is packed when. */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { audit } from '../../../src/audit/audit.ts'
import { AuditStore } from '../../../src/store/audit/audit-store.ts'
import { newestOf, packed, placeholderOf, unpacked } from '../../../src/store/history/pack.ts'
import { packDictionary } from '../../../src/store/history/pack-dictionary.ts'
import { readEntries, readEntry } from '../../../src/store/history/read-entries.ts'
import { Place } from '../support/place.ts'
import * as checks from '../support/upkeep/pack-checks.ts'
import { ended, entriesOf, oldEntries, packer, type Rested, raw, rested, walk } from '../support/upkeep/pack-checks.ts'

describe('a pack', () => {
  test('a pack holds its entries byte for byte', async () => {
    const entries = ['{"a":"ä\\n"}', '{}', ...oldEntries(4), 'what another program wrote'].map((text) =>
      Buffer.from(text),
    )
    const pack = (await packed(entries)) as Buffer
    expect(pack.subarray(0, 6).toString()).toMatch(/^z7 \d/)
    expect(unpacked(pack)?.map(String)).toEqual(entries.map(String))
  })

  test('a pack is not made of entries that are smaller without it, or that it would not give back', async () => {
    expect(await packed([Buffer.from('{}'), Buffer.from('{}')])).toBeNull()
    const long = 'x'.repeat(500)
    expect(await packed([Buffer.from(`{\n${long}}`), Buffer.from(`{${long}}`)])).toBeNull()
  })

  test('a pack that is damaged, or of an unknown codec, is not read', async () => {
    const pack = (await packed(oldEntries(9).map((text) => Buffer.from(text)))) as Buffer
    expect(unpacked(pack.subarray(0, -3))).toBeNull()
    expect(unpacked(Buffer.concat([Buffer.from('y'), pack.subarray(1)]))).toBeNull()
    expect(unpacked(Buffer.from('z9 100 nothing'))).toBeNull()
  })

  test('a pack is read with the dictionary with which it was made', () => {
    // Another dictionary takes another codec (PACK-DICTIONARY-1).
    expect(createHash('sha256').update(packDictionary).digest('hex').slice(0, 16)).toBe('97e93dd68d732606')
  })

  test('a pack shows without unpacking when its newest entry was written, and its type', () => {
    const [entry = ''] = oldEntries(1)
    expect(placeholderOf(7, Buffer.from(entry))).toBe('7 1000 inbox')
    expect(newestOf('7 1000 inbox')).toEqual({ at: 1_000, type: 'inbox' })
    expect(newestOf(entry)).toEqual({ at: 1_000, type: 'inbox' })
    expect(placeholderOf(7, Buffer.from('no entry'))).toBe('7')
    expect([newestOf(null), newestOf('7')].map(({ at }) => at)).toEqual([null, null])
  })
})

describe('a packed history', () => {
  test('a packed history reads as it was written, from and to any position', async () => {
    await using place = await Place.open()
    const step = fc.record({
      entries: fc.integer({ min: 0, max: 5 }),
      packs: fc.boolean(),
      length: fc.constantFrom(3, 40, 70_000),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.integer(),
        fc.integer(),
        async (steps, a, b) => {
          const one = await rested(place, oldEntries(1))
          const written = [...one.entries]
          for (const { entries, packs, length } of steps) {
            const more = oldEntries(entries, 'x'.repeat(length)).map((text) => text.replace('0:', `${written.length}:`))
            if (more.length > 0) await place.redis.rpush(one.log, ...more)
            written.push(...more)
            if (packs) await walk(place)
          }
          expect(await place.redis.llen(one.log)).toBe(written.length)
          const [from, to] = [a % (written.length + 2), b % (written.length + 2)]
          expect(await readEntries(place.redis, one.log, from, to)).toEqual(sliceOf(written, from, to))
          expect(await readEntries(place.redis, one.log, 0, -1)).toEqual(written)
          expect(await readEntry(place.redis, one.log, Math.abs(from))).toBe(written[Math.abs(from)] ?? null)
          await place.redis.del(one.log, one.record)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('a packed history takes the next entries into its last pack, until that is large', async () => {
    await using place = await Place.open()
    const one = await rested(place)
    await walk(place)
    await place.redis.rpush(one.log, ...oldEntries(3))
    expect(await walk(place)).toBe(1)
    const elements = await place.redis.lrange(one.log, 0, -1)
    expect(elements.map((element) => element.slice(0, 2)).join(' ')).toMatch(/^z9 1 2 3 4 5 6 7 8 $/)
    await place.redis.rpush(one.log, ...oldEntries(2, 'y'.repeat(80_000)))
    await walk(place)
    await place.redis.rpush(one.log, ...oldEntries(2))
    await walk(place)
    const packs = (await place.redis.lrange(one.log, 0, -1)).filter((element) => element.startsWith('z'))
    expect(packs).toHaveLength(2)
    expect(await entriesOf(place, one)).toHaveLength(13)
  })

  test('a packed history is read by turns, lists and reports as if it were not packed, and the audit finds nothing', async () => {
    await using place = await Place.open()
    const one = await rested(place)
    const two = await ended(place, oldEntries(4), 'two')
    const before = await readings(place, [one, two])
    expect(await walk(place)).toBe(2)
    expect([await raw(place, one), await raw(place, two)]).toEqual([0, 0])
    expect(await readings(place, [one, two])).toEqual(before)
    const { turns } = place.node()
    expect(await turns.readHistory(one.root, 0)).toEqual(one.entries)
    expect(await turns.readHistory(one.root, -2)).toEqual(one.entries.slice(-2))
  })

  test('a packed history that another program damaged is named by its key, and by the audit', async () => {
    await using place = await Place.open()
    const one = await rested(place)
    await walk(place)
    await place.redis.lset(one.log, 0, 'z6 100 nothing')
    await expect(place.node().turns.readHistory(one.root, 0)).rejects.toThrow(/entry 0 of .* should be a pack/)
    const findings = (await auditOf(place)).findings.map(({ what }) => what)
    expect(findings.join('\n')).toMatch(/position 5 of its history cannot be read/)
  })

  test('a packed history takes new entries: the end of a cancel, an amendment, a message', async () => {
    await using place = await Place.open()
    const one = await rested(place)
    await walk(place)
    const position = one.entries.length
    const order = { version: 1, position, entry: '{"type":"expanded"}', event: '[["context.changed",{}]]' }
    expect(await place.sessions.amendments.amend(one.root, order)).toEqual({ kind: 'ok' })
    await place.post(one.root, 'go on')
    await (await place.node().claim()).complete()
    expect(await entriesOf(place, one)).toEqual([
      ...one.entries,
      '{"type":"expanded"}',
      '{"type":"received"}',
      '{"type":"completed"}',
    ])
  })
})

describe('packing', () => {
  const claims: readonly (readonly [string, (place: Place) => Promise<unknown>])[] = [
    ['leaves a worker that is gone', checks.nothingIsPackedOfAWorkerThatIsGone],
    ['leaves a worker that may run', checks.nothingIsPackedOfAWorkerThatMayRun],
    ['takes the place of what its maker read', checks.aPackTakesThePlaceOfWhatItsMakerRead],
    ['that is sent again is the same', checks.aPackSentAgainIsTheSame],
    ['takes no pack for entries after its node stood still', checks.whatANodeFoundLongAgoIsNotPackedAnew],
    ['happens once', checks.whatIsPackedIsPackedOnce],
    ['leaves a young history', checks.aYoungHistoryIsNotPacked],
    ['passes over workers that may run', checks.aWalkPassesOverWorkersThatMayRun],
    ['is made by one node at a time', checks.oneNodeMakesAWalk],
    ['reads no list of workers for nothing', checks.aWalkReadsNoListOfWorkersForNothing],
    ['is a small part of the time', checks.walksAreASmallPartOfTheTime],
    ['goes on where a node that died had come to', checks.aWalkOutlivesItsNode],
    ['looks once at a session that has ended', checks.aWalkGoesOnBehindWhatItHasPacked],
  ]
  test.each(claims)('%s', async (_, check) => {
    await using place = await Place.open()
    await expect(check(place)).resolves.toBeUndefined()
  })

  test('packing lasts no longer than a sweep may pack, and goes on where it was', async () => {
    await using place = await Place.open()
    const long = await rested(place, oldEntries(6, 'x'.repeat(70_000)))
    const short = await rested(place, oldEntries(3), 'two')
    const one = packer(place, 'node-a', { packMs: 0 })
    const left = async () => [await raw(place, long), await raw(place, short)]
    expect(await one.packSome()).toMatchObject({ done: false })
    expect(await left()).toEqual([4, 0])
    // The entries that were appended meanwhile are for the next walk.
    await place.redis.rpush(long.log, ...oldEntries(2))
    for (const expected of [4, 2]) {
      expect(await one.packSome()).toMatchObject({ packed: 1, done: false })
      expect(await left()).toEqual([expected, 0])
    }
    expect(await walk(place)).toBe(1)
    expect(await entriesOf(place, long)).toEqual([...long.entries, ...oldEntries(2)])
  })

  test('packing finds a history again that it could not read, although others waited behind it', async () => {
    await using place = await Place.open()
    const histories = new Map<string, Rested>()
    // More than are packed at once.
    for (let index = 0; index < 12; index++) {
      const one = await rested(place, oldEntries(3), `n${index}`)
      histories.set(one.log, one)
    }
    let failed: Rested | undefined
    vi.spyOn(place.wire.face, 'lrangeBuffer').mockImplementationOnce((log) => {
      failed = histories.get(String(log))
      return Promise.reject(new Error('not now'))
    })
    const one = packer(place)
    await expect(one.packSome()).rejects.toThrow('not now')
    while (!(await one.packSome()).done);
    expect(await raw(place, failed as Rested)).toBe(0)
  })

  test('packing finds all workers of a session, in batches that are smaller than the session', async () => {
    await using place = await Place.open({ policy: { sweepBatch: 3 } })
    const one = await rested(place)
    const children = Array.from({ length: 8 }, (_, index) => `${one.root.slice(0, -2)}${10 + index}`)
    await place.redis.rpush(place.sessionKeys(one.id).workers, ...children)
    for (const child of children) {
      await place.redis.hset(place.workerKeys(child).record, 'status', 'parked', 'kind', 'echo')
      await place.redis.rpush(place.workerKeys(child).log, ...oldEntries(2))
    }
    expect(await walk(place)).toBe(9)
    expect(await walk(place)).toBe(0)
  })
})

function sliceOf(written: readonly string[], from: number, to: number): string[] {
  const absolute = (position: number) => (position < 0 ? Math.max(0, written.length + position) : position)
  return written.slice(absolute(from), to < 0 ? Math.max(0, written.length + to + 1) : to + 1)
}

async function auditOf(place: Place) {
  return audit([new AuditStore(place.redis, place.caller, place.keys, 0, place.deadlineMs)])
}

/** The texts of these histories as clients and the audit are shown them. */
async function readings(
  place: Place,
  all: readonly { readonly id: string; readonly root: string }[],
): Promise<unknown> {
  const { findings, counts } = await auditOf(place)
  const entries = await Promise.all([
    ...all.map(({ root }) => place.inspect.history(root, 1, 3)),
    ...all.map(({ root }) => place.inspect.entryAt(root, 2)),
  ])
  return { findings, counts, rows: await place.inspect.workers(all.map(({ root }) => root)), entries }
}
