/** A batch of children of a turn, one after another, and to which of them a slot is offered. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { SpawnOrder } from '../../../src/core/ports/ports.ts'
import type { Kind } from '../../../src/runtime/node/kind.ts'
import { EagerChildren, offerFor } from '../../../src/runtime/slot/eager-children.ts'
import type { Turn } from '../../../src/runtime/turn/turn.ts'
import { grantByHand } from '../support/held-store.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a batch of children', () => {
  /** Its turns end when the test says so. */
  function batch(names: readonly string[], longMs = 1_000_000) {
    const done: string[] = []
    const open = new Map<string, () => void>()
    const turns = new Map<string, Turn>()
    const passOn = vi.fn<() => void>()
    const children = new EagerChildren(
      names.map((name) => grantByHand({ name })),
      {
        longMs,
        passOn,
        make: (grant) => {
          const turn = { grant, aborted: false, draining: false, bellIsBusy: false } as unknown as Turn
          turns.set(grant.name, turn)
          return turn
        },
        run: (turn) => {
          done.push(`${turn.grant.name} ${turn.draining ? 'is given back' : 'runs'}`)
          return new Promise<void>((resolve) => open.set(turn.grant.name, resolve))
        },
      },
    )
    const turn = (name: string) => turns.get(name) as Turn
    return { children, done, passOn, turn, end: (name: string) => open.get(name)?.() }
  }

  const settled = async () => {
    for (let pass = 0; pass < 3; pass++) await new Promise((resolve) => setImmediate(resolve))
  }

  test('begins each when the one before is about to end, and is over when all are', async () => {
    const { children, done, turn, end } = batch(['a', 'b', 'c'])
    let last: Turn | undefined
    const running = children.run({ areToBegin: true }).then((one) => (last = one))
    expect(done).toEqual(['a runs'])
    children.noteEnding(turn('a'))
    await settled()
    expect(done).toEqual(['a runs', 'b runs'])
    expect([children.areAllBegun, children.isLast(turn('b'))]).toEqual([false, false])
    end('a')
    await settled()
    expect(done).toEqual(['a runs', 'b runs'])
    children.noteEnding(turn('b'))
    await settled()
    expect([children.areAllBegun, children.isLast(turn('c'))]).toEqual([true, true])
    end('c')
    await settled()
    expect([done.at(-1), last]).toEqual(['c runs', undefined])
    end('b')
    expect((await running).grant.name).toBe('c')
  })

  test('passes on when the last is about to end, or all are given back', async () => {
    const { children, passOn, turn, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: true })
    children.noteEnding(turn('a'))
    await settled()
    expect(passOn).not.toHaveBeenCalled()
    children.noteEnding(turn('b'))
    await settled()
    expect(passOn).toHaveBeenCalled()
    for (const name of ['a', 'b']) end(name)
    await running
    const stopped = batch(['a', 'b'])
    const givingBack = stopped.children.run({ areToBegin: true })
    Object.assign(stopped.turn('a'), { aborted: true })
    stopped.children.noteEnding(stopped.turn('a'))
    await settled()
    expect(stopped.done).toEqual(['a runs', 'b is given back'])
    expect(stopped.passOn).toHaveBeenCalled()
    for (const name of ['a', 'b']) stopped.end(name)
    await givingBack
  })

  test('begins one when another says again that it is about to end, as its commit was refused', async () => {
    const { children, done, turn, end } = batch(['a', 'b', 'c'])
    const running = children.run({ areToBegin: true })
    for (let time = 0; time < 3; time++) {
      children.noteEnding(turn('a'))
      await settled()
    }
    expect(done).toEqual(['a runs', 'b runs'])
    for (const name of ['a', 'b']) end(name)
    await settled()
    end('c')
    await running
    expect(done).toEqual(['a runs', 'b runs', 'c runs'])
  })

  test('begins none once another was told to stop, and gives it back', async () => {
    const { children, done, turn, end } = batch(['a', 'b', 'c'])
    const running = children.run({ areToBegin: true })
    Object.assign(turn('a'), { aborted: true })
    children.noteEnding(turn('a'))
    await settled()
    expect(done).toEqual(['a runs', 'b is given back', 'c is given back'])
    expect(children.areAllBegun).toBe(false)
    for (const name of ['a', 'b', 'c']) end(name)
    await running
  })

  test('goes on behind one that was abandoned without having asked for its end', async () => {
    const { children, done, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: true })
    end('a')
    await settled()
    expect(done).toEqual(['a runs', 'b runs'])
    end('b')
    await running
  })

  test('is given back as a whole where it is not to begin', async () => {
    const { children, done, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: false })
    for (const name of ['a', 'b']) end(name)
    await running
    expect(done).toEqual(['a is given back', 'b is given back'])
  })

  test('gives back those that have not begun when one takes long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { children, done, end } = batch(['a', 'b', 'c'], 100)
      const running = children.run({ areToBegin: true })
      vi.advanceTimersByTime(99)
      expect(done).toEqual(['a runs'])
      vi.advanceTimersByTime(1)
      expect(done).toEqual(['a runs', 'b is given back', 'c is given back'])
      for (const name of ['a', 'b', 'c']) end(name)
      await running
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('begins one behind the commit of the one before, where that took a while', async () => {
    let now = Math.ceil(performance.now())
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const { children, done, turn, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: true })
    now += 5
    children.noteEnding(turn('a'))
    // As the store does with a commit, which is made next.
    setImmediate(() => done.push('a leaves'))
    await settled()
    expect(done).toEqual(['a runs', 'a leaves', 'b runs'])
    for (const name of ['a', 'b']) end(name)
    await running
  })

  test('also when that one kept the event loop for itself, so that no timer told of it', async () => {
    let now = Math.ceil(performance.now())
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const { children, done, turn, end } = batch(['a', 'b', 'c', 'd'], 100)
    const running = children.run({ areToBegin: true })
    now += 60
    children.noteEnding(turn('a'))
    // The event loop goes round first, so that what is recorded leaves.
    await Promise.resolve()
    expect(done).toEqual(['a runs'])
    await settled()
    expect(done).toEqual(['a runs', 'b runs'])
    now += 60
    children.noteEnding(turn('b'))
    await settled()
    expect(done.slice(2)).toEqual(['c is given back', 'd is given back'])
    for (const name of ['a', 'b', 'c', 'd']) end(name)
    await running
  })
})

describe('a slot is offered to', () => {
  const kind = (name: string, more: Partial<Kind> = {}) =>
    [name, { name, pool: 'default', isHandler: true, ...more } as Kind] as const
  const kinds = new Map([kind('quick'), kind('agent', { isHandler: false }), kind('gpu', { pool: 'gpu' })])
  const spawn = (of: string, pool = 'default') => ({ kind: of, pool }) as SpawnOrder
  const offered = (spawns: readonly SpawnOrder[], share = 16) => offerFor(spawns, 3, { kinds, pool: 'default', share })

  test('handlers of its pool, in order', () => {
    expect(offered([spawn('quick'), spawn('agent'), spawn('quick')])).toMatchObject({
      slot: '3+',
      takes: [true, false, true],
    })
  })

  test('no kind that this node does not host, and none of another pool', () => {
    expect(offered([spawn('far'), spawn('gpu', 'gpu'), spawn('gpu')])).toBeUndefined()
  })

  test('no more than it may be expected to take in a row', () => {
    expect(
      offered(
        [1, 2, 3].map(() => spawn('quick')),
        2,
      ),
    ).toMatchObject({ takes: [true, true, false] })
  })
})
