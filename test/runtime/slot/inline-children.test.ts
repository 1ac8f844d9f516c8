/** Children that a slot runs itself, one after another; which of them are offered to it, and which it got. */

import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CommitAnswer, SpawnOrder } from '../../../src/core/ports/ports.ts'
import { afterRun } from '../../../src/core/worker/run-ends.ts'
import type { Kind } from '../../../src/runtime/node/kind.ts'
import { childrenOf, InlineChildren, offerOf } from '../../../src/runtime/slot/inline-children.ts'
import { emptyStep, type Step } from '../../../src/runtime/turn/step/step.ts'
import type { Turn } from '../../../src/runtime/turn/turn.ts'
import { WatchedTimers } from '../../support/time/watched-timers.ts'
import { accepted, assignmentByHand } from '../support/held-store.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a slot that runs children itself', () => {
  /** A batch whose turns end when the test says so. */
  function batch(names: readonly string[], inlineMs = 1_000_000) {
    const done: string[] = []
    const open = new Map<string, () => void>()
    const turns = new Map<string, Turn>()
    const children = new InlineChildren(
      names.map((name) => assignmentByHand({ name })),
      {
        inlineMs,
        make: (assignment) => {
          const turn = {
            assignment,
            aborted: false,
            pausing: { isOn: false },
            isDraining: false,
            drain() {
              this.isDraining = true
            },
          }
          turns.set(assignment.name, turn as unknown as Turn)
          return turn as unknown as Turn
        },
        run: (turn) => {
          done.push(`${turn.assignment.name} ${turn.isDraining ? 'is released' : 'runs'}`)
          return new Promise<void>((resolve) => open.set(turn.assignment.name, resolve))
        },
      },
    )
    const turn = (name: string) => turns.get(name) as Turn
    return { children, done, turn, end: (name: string) => open.get(name)?.() }
  }

  const settled = async () => {
    for (let pass = 0; pass < 3; pass++) await new Promise((resolve) => setImmediate(resolve))
  }

  test('a slot that runs children itself begins each child when the one before it is about to end, and is over when all are (INLINE-1)', async () => {
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
    expect((await running).assignment.name).toBe('c')
  })

  test('a slot that runs children itself begins only one child when another reports a second time that it is about to end, because its commit was refused', async () => {
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

  test('a slot that runs children itself begins no child once another was aborted, and releases the others (INLINE-3)', async () => {
    const { children, done, turn, end } = batch(['a', 'b', 'c'])
    const running = children.run({ areToBegin: true })
    Object.assign(turn('a'), { aborted: true })
    children.noteEnding(turn('a'))
    await settled()
    expect(done).toEqual(['a runs', 'b is released', 'c is released'])
    expect(children.areAllBegun).toBe(false)
    for (const name of ['a', 'b', 'c']) end(name)
    await running
  })

  test('a slot that runs children itself begins no child once the session of another is paused, and releases the others (INLINE-3)', async () => {
    const { children, done, turn, end } = batch(['a', 'b', 'c'])
    const running = children.run({ areToBegin: true })
    Object.assign(turn('a'), { pausing: { isOn: true } })
    children.noteEnding(turn('a'))
    await settled()
    expect(done).toEqual(['a runs', 'b is released', 'c is released'])
    expect(children.areAllBegun).toBe(false)
    for (const name of ['a', 'b', 'c']) end(name)
    await running
  })

  test('a slot that runs children itself goes on after a child that was abandoned before it asked for its end', async () => {
    const { children, done, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: true })
    end('a')
    await settled()
    expect(done).toEqual(['a runs', 'b runs'])
    end('b')
    await running
  })

  test('a slot that runs children itself releases all children if they are not to begin (INLINE-4)', async () => {
    const { children, done, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: false })
    for (const name of ['a', 'b']) end(name)
    await running
    expect(done).toEqual(['a is released', 'b is released'])
  })

  test('a slot that runs children itself releases the children that have not begun when one takes long (INLINE-2)', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      using timers = new WatchedTimers(100)
      const { children, done, end } = batch(['a', 'b', 'c'], 100)
      const running = children.run({ areToBegin: true })
      vi.advanceTimersByTime(99)
      expect(done).toEqual(['a runs'])
      vi.advanceTimersByTime(1)
      expect(done).toEqual(['a runs', 'b is released', 'c is released'])
      for (const name of ['a', 'b', 'c']) end(name)
      await running
      expect(timers.counts.left).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a slot that runs children itself begins a child after the commit of the one before has left, if that child took a while', async () => {
    let now = Math.ceil(performance.now())
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const { children, done, turn, end } = batch(['a', 'b'])
    const running = children.run({ areToBegin: true })
    now += 5
    children.noteEnding(turn('a'))
    // The turn leaves in the next pass of the event loop, as after a commit.
    setImmediate(() => done.push('a leaves'))
    await settled()
    expect(done).toEqual(['a runs', 'a leaves', 'b runs'])
    for (const name of ['a', 'b']) end(name)
    await running
  })

  test('a slot that runs children itself releases children even if one kept the event loop busy, so that no timer fired (INLINE-2)', async () => {
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
    expect(done.slice(2)).toEqual(['c is released', 'd is released'])
    for (const name of ['a', 'b', 'c', 'd']) end(name)
    await running
  })
})

describe('offered to a slot are', () => {
  const kind = (name: string, more: Partial<Kind> = {}) =>
    [name, { name, pool: 'default', isHandler: true, ...more } as Kind] as const
  const kinds = new Map([kind('quick'), kind('agent', { isHandler: false }), kind('gpu', { pool: 'gpu' })])
  const spawn = (of: string, pool = 'default') => ({ kind: of, pool }) as SpawnOrder
  const turn = { assignment: assignmentByHand(), aborted: false }
  const offered = (spawns: readonly SpawnOrder[], { most = 16, ...more }: { most?: number } & Partial<Step> = {}) =>
    offerOf(turn, { ...emptyStep(afterRun(1)), spawns, ...more }, 3, { kinds, pool: 'default', most })?.offer

  test('children offered to a slot are handlers of its pool, in order', () => {
    expect(offered([spawn('quick'), spawn('agent'), spawn('quick')])).toMatchObject({
      slot: '3+',
      takes: [true, false, true],
    })
  })

  test('children of a kind that this node does not host, or of another pool, are not offered to a slot', () => {
    expect(offered([spawn('far'), spawn('gpu', 'gpu'), spawn('gpu')])).toBeUndefined()
  })

  test('no more children are offered to a slot than one wake-up may be expected to serve', () => {
    const three = [1, 2, 3].map(() => spawn('quick'))
    expect(offered(three, { most: 2 })).toMatchObject({ takes: [true, true, false] })
  })

  test('children of a run that ends with the step that spawns them are not offered to a slot', () => {
    expect(offered([spawn('quick')], { outcome: 'completed' })).toBeUndefined()
  })
})

describe('offered children', () => {
  const spawn = (id: string): SpawnOrder => ({
    id,
    kind: 'quick',
    name: id,
    pool: 'default',
    detached: false,
    call: 1,
    mail: 'i\t-\t1',
  })
  const offer = {
    parent: assignmentByHand({ run: 2 }),
    spawns: ['a', 'b', 'c'].map(spawn),
    offer: { slot: '3+', nonce: 'n', takes: [true, false, true] },
  }
  const got = (answer: CommitAnswer | undefined) => childrenOf(offer, answer, 7)

  test('a slot gets those offered children that the answer names, with the lease that it gives', () => {
    expect(got(accepted(1, { assigned: ['c'], trustedUntil: 99 }))).toMatchObject([
      { workerId: 'c', token: '1:n', parentRun: 2, trustedUntil: 99 },
    ])
  })

  test('no child is given to the slot when the answer names none or the commit was not accepted', () => {
    expect([got(accepted(1)), got({ kind: 'conflict', version: 1 })]).toEqual([[], []])
  })

  test('all children may be with the slot when no answer came: it has to release them (INLINE-4)', () => {
    expect(got(undefined)).toMatchObject([
      { workerId: 'a', trustedUntil: 7 },
      { workerId: 'c', trustedUntil: 7 },
    ])
  })
})
