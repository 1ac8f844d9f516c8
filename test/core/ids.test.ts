/** The promises of ids (ID-1 to ID-4 of src/core/ids.ts) for any input. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { InputError } from '../../src/core/errors.ts'
import {
  childId,
  creatorOf,
  digestKey,
  isId,
  isKind,
  isNamespace,
  isPool,
  isWorkerId,
  newCreator,
  newId,
  parseId,
  parseKind,
  partitionOf,
  partitionOfKey,
  partitionsMax,
  rootIdOf,
  sessionIdOfRoot,
  timeOf,
} from '../../src/core/ids.ts'
import { anyText } from './support/any-text.ts'

const partitions = fc.integer({ min: 0, max: partitionsMax - 1 })
const uuidText = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Texts with a special meaning in a Redis key, a pattern, a script argument or a path. */
const injections = [
  '',
  ' ',
  '*',
  '../../etc/passwd',
  '{other.0}:w:x',
  '01890a5d-ac96-774b-bcce-b302099a8057:log',
  '01890a5d-ac96-774b-bcce-b302099a8057\n',
  '01890a5d-ac96-774b-bcce-b302099a8057 x',
  '01890a5d-ac96-774b-bcce-b302099a805',
  '01890a5d-ac96-774b-bcce-b302099a80570',
  '{1890a5d-ac96-774b-bcce-b302099a8057',
  '01890a5d-ac96-474b-bcce-b302099a8057',
  '01890a5d-ac96-774b-0cce-b302099a8057',
  '0189Oa5d-ac96-774b-bcce-b302099a8057',
  'toString',
]

describe('a new id', () => {
  test('a new id is a UUID of version 7 that carries its partition (ID-1)', () => {
    fc.assert(
      fc.property(partitions, (partition) => {
        const id = newId(partition)
        expect(id).toMatch(uuidText)
        expect(id[14]).toBe('7')
        expect(isId(id)).toBe(true)
        expect(partitionOf(id)).toBe(partition)
      }),
    )
  })

  test('sorts after all earlier ids even when the clock goes back (ID-2)', () => {
    const before = newId(0)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => timeOf(before) - 60_000)
    const ids = [before, ...Array.from({ length: 100 }, () => newId(0))]
    clock.mockRestore()
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids.map((id) => id.slice(24))).size).toBe(ids.length)
  })

  test('tells the client that created the session, and differs from all others that the same client created (ID-4)', () => {
    const [creator, other] = [newCreator(), newCreator()]
    expect(other).not.toBe(creator)
    const ids = Array.from({ length: 20_000 }, (_, index) => newId(index % partitionsMax, creator))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.toSorted()).toEqual(ids)
    expect(ids.every(isId)).toBe(true)
    expect(new Set(ids.map(creatorOf))).toEqual(new Set([creator]))
    expect(new Set(ids.map(partitionOf)).size).toBe(partitionsMax)
    expect(creatorOf(newId(0))).not.toBe(creator)
  })

  test('sorts after every earlier id of this process, in any partition (ID-2)', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => newId((index * 7_919) % partitionsMax))
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the root of a session', () => {
  test('the root of a session has its own id, from which the id of the session follows', () => {
    fc.assert(
      fc.property(partitions, (partition) => {
        const session = newId(partition)
        const root = rootIdOf(session)
        expect(root).not.toBe(session)
        expect(isId(root)).toBe(true)
        expect(partitionOf(root)).toBe(partition)
        expect(sessionIdOfRoot(root)).toBe(session)
      }),
    )
  })
})

describe("a child's id", () => {
  const calls = fc.tuple(partitions, fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 1_000_000 }))

  test('the id of a child is a valid id of version 8 in the partition of its parent (ID-2)', () => {
    fc.assert(
      fc.property(calls, ([partition, run, call]) => {
        const child = childId(newId(partition), run, call)
        expect(child).toMatch(uuidText)
        expect(child[14]).toBe('8')
        expect(isId(child)).toBe(true)
        expect(partitionOf(child)).toBe(partition)
      }),
    )
  })

  test('the id of a child follows only from parent, run and call; another call is another child', () => {
    const parent = '01890a5d-ac96-774b-bcce-b302099a8057'
    expect(childId(parent, 1, 1)).toBe(childId(parent, 1, 1))
    const seen = new Set([childId(newId(0), 1, 1)])
    for (let run = 1; run <= 30; run++) for (let call = 1; call <= 30; call++) seen.add(childId(parent, run, call))
    expect(seen.size).toBe(901)
  })

  test('the id of a child does not mix up run and call: run 1, call 11 is not run 11, call 1', () => {
    const parent = newId(0)
    expect(childId(parent, 1, 11)).not.toBe(childId(parent, 11, 1))
  })

  test('the id of a child is the same in all versions of troupe: a repeated spawn after an upgrade is the same child', () => {
    expect(childId('01890a5d-ac96-774b-bcce-b302099a8057', 2, 3)).toMatchInlineSnapshot(
      `"7f5f3b94-e50b-8a13-91d7-7ea581835057"`,
    )
    const others = [1, 2, 3, 4].map((call) => childId('01890a5d-ac96-774b-bcce-b302099a8057', 1, call))
    expect(others).toMatchInlineSnapshot(`
      [
        "faabe6e5-116a-8952-85d5-c8767fc95057",
        "a46a420d-82d7-8e05-8592-d454ae945057",
        "92a15a53-429b-894e-9103-97806e907057",
        "9bea028f-789e-8f9b-bc6c-50aff622d057",
      ]
    `)
  })
})

describe('a text that becomes part of a key (ID-3)', () => {
  test.each(injections)('a text that becomes part of a key is not accepted as an id: %j', (text) => {
    expect(isId(text)).toBe(false)
  })

  test.each(injections.filter((text) => text.trim() !== '01890a5d-ac96-774b-bcce-b302099a8057'))(
    'a text that becomes part of a key is refused with what was expected: %j',
    (text) => {
      expect(() => parseId(text, 'worker')).toThrow(InputError)
      expect(() => parseId(text, 'worker')).toThrow(
        /is not a worker id: one is like [0-9a-f-]{14}8[0-9a-f-]{21}, and `troupe worker list` prints them\.$/,
      )
    },
  )

  test('no text but a UUID is an id', () => {
    const taken: unknown[] = []
    fc.assert(fc.property(fc.oneof(anyText, fc.anything()), (value) => void (isId(value) && taken.push(value))))
    expect(taken).toEqual([])
  })

  test('an id that was pasted with blanks or in capitals is accepted', () => {
    const id = newId(3)
    expect(parseId(` ${id.toUpperCase()}\n`, 'session')).toBe(id)
  })

  test('the error for a UUID of another version shows a valid id of troupe as an example', () => {
    const refusal = (what: 'worker' | 'session'): string => {
      try {
        return parseId('f47ac10b-58cc-4372-a567-0e02b2c3d479', what)
      } catch (error) {
        return (error as Error).message
      }
    }
    const [worker, session] = (['worker', 'session'] as const).map(
      (what) => /like ([0-9a-f-]{36})/.exec(refusal(what))?.[1],
    )
    expect(isId(worker) && isWorkerId(worker)).toBe(true)
    expect(isId(session) && !isWorkerId(session)).toBe(true)
  })

  test('the error for a wrong id cuts a long text and names other values', () => {
    expect(() => parseId('x'.repeat(1_000), 'session')).toThrow(/^"x{80}"… \(1000 characters\) is not a session id/)
    expect(() => parseId(7, 'session')).toThrow(/^7 is not a session id/)
    expect(() => parseId(undefined, 'session')).toThrow(/^undefined is not a session id/)
  })

  test('a kind is a path of names, and can neither leave the folder nor end a list of kinds', () => {
    for (const kind of ['echo', 'a/b', 'web-reader', 'r2_d2', '0', 'x'.repeat(64)]) expect(isKind(kind)).toBe(true)
    for (const kind of ['', 'Echo', 'a b', '../a', 'a//b', '/a', 'a/', 'a/../b', 'a:b', 'a\n', 'x'.repeat(65), null, 1])
      expect(isKind(kind)).toBe(false)
    expect(parseKind('a/b')).toBe('a/b')
    expect(() => parseKind('a b')).toThrow(/^"a b" is not a worker kind: use up to 64 letters/)
    expect(() => parseKind('Counter')).toThrow(
      /^"Counter" is not a worker kind: .*, a lower-case letter or a digit first/,
    )
    for (const value of [Object.create(null), Symbol('s'), () => 'echo', [null]])
      expect(() => parseKind(value)).toThrow(InputError)
  })

  test('a namespace and a pool hold no character that could end a hash tag or a wake-up', () => {
    for (const text of ['{a}', 'a.b', 'a:b', 'a b', '', 'a\n', 'x'.repeat(65)]) expect(isNamespace(text)).toBe(false)
    for (const text of ['a:b', 'a,b', 'a b', '', 'A', '-a', 'x'.repeat(33)]) expect(isPool(text)).toBe(false)
    expect(isNamespace('My_team-1')).toBe(true)
    expect(isPool('gpu-2_b')).toBe(true)
  })

  test('an idempotency key may be any text, because its digest is used', () => {
    fc.assert(fc.property(anyText, (key) => /^[A-Za-z0-9_-]{32}$/.test(digestKey(key, 'session'))))
    expect(digestKey('a', 'session')).not.toBe(digestKey('b', 'session'))
    expect(digestKey('a', 'message')).not.toBe(digestKey('b', 'message'))
  })

  test('no two sorts and owners of idempotency keys share a digest', () => {
    const digests = (['session', 'message', 'act'] as const).flatMap((of) =>
      (['caller', 'job'] as const).map((owner) => digestKey('a', of, owner)),
    )
    expect(new Set(digests).size).toBe(6)
  })

  test('an idempotency key of a message never equals that of a session', () => {
    const differ = (one: string, other: string) => digestKey(one, 'message') !== digestKey(other, 'session')
    expect(differ('a', 'a')).toBe(true)
    fc.assert(fc.property(anyText, anyText, differ))
  })
})

test('the partition of a key exists and is the same each time', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: partitionsMax }), (key, count) => {
      const partition = partitionOfKey(key, count)
      expect(partition).toBeGreaterThanOrEqual(0)
      expect(partition).toBeLessThan(count)
      expect(partitionOfKey(key, count)).toBe(partition)
    }),
  )
})

describe('the digest of an idempotency key', () => {
  test('the digest of an idempotency key is the same in all versions of troupe: a request that is repeated after an upgrade finds the first one', () => {
    // A text that was cut within an emoji is a key of its own, and is no other cut text.
    const keys = ['order-17', 'Größe', '\ud83d', '\ud83e']
    expect(keys.map((key) => partitionOfKey(key, partitionsMax))).toMatchInlineSnapshot(`
      [
        3747,
        3968,
        1228,
        1228,
      ]
    `)
    expect(keys.map((key) => digestKey(key, 'session'))).toMatchInlineSnapshot(`
      [
        "cqkOo9qLXdAb3i8nMU4C4hf5NRgupXOn",
        "rtw_gJiaZUaWJwWFKy9KSB29HkkHYGk1",
        "yWDwnP516aVvl7BOwCVTvnQtxaANZrBu",
        "nx0pIjp8o6_Mo_gwogImz4W0n9G7UcHl",
      ]
    `)
  })
})
