/** F23: the clocks of nodes and clients are wrong by minutes, each in its own way, or jump. Redis' clock alone counts. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import type { Harness, NodeSettings } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { leniencyMs, type Row, type Stage, times } from '../../row.ts'

const program = new URL('../../../programs/preload/wrong-clock.ts', import.meta.url)
const clientProgram = new URL('../../../programs/fault-client.ts', import.meta.url)
const offMs = 600_000
/** Slots of each node; all three nodes together hold that many long turns. */
const slots = 5
const longTurns = 2 * slots + 2
const lateMsMax = 2_000
/** A machine that is busy with other tests must be able to keep these. */
const policy = { leaseMs: 4_000, renewEveryMs: 300, leaseMarginMs: 200, sweepEveryMs: 300 }
const { leaseMs, sweepEveryMs } = policy
const tree: TreeInput = { children: 4, steps: 3, stepMs: 500 }

export const clockRow: Row = {
  id: 'F23',
  promise: 'wrong clocks of nodes and clients move no lease and no timer; timers fire within 2 s and a sweep (I5)',
  done: 'nodes 10 min ahead, 10 min behind, and jumping between the two; a client ahead; a holder killed; a trial is a timer or a turn',
  atOnce: 2,
  trials: (scale) => {
    const { isLong } = scale
    const lenientMs = leniencyMs(scale)
    return [
      ...times(isLong ? 10 : 1, 'at work', (stage) => atWork(stage, isLong ? 30 : 6, lenientMs)),
      ...times(isLong ? 10 : 1, 'taken over', (stage) => takenOver(stage, lenientMs)),
    ]
  },
}

function wrongClock(off: number, jumpMs?: number): Pick<NodeSettings, 'concurrency' | 'policy' | 'preload'> {
  const jump = jumpMs === undefined ? {} : { TROUPE_CLOCK_JUMP_MS: String(jumpMs) }
  return { concurrency: slots, policy, preload: { program, env: { TROUPE_CLOCK_OFF_MS: String(off), ...jump } } }
}

async function atWork(stage: Stage, trees: number, lenientMs: number): Promise<number> {
  await using harness = await stage.open()
  const nodes = await Promise.all([
    harness.start('ahead', wrongClock(offMs)),
    harness.start('behind', wrongClock(-offMs)),
    harness.start('jumping', wrongClock(offMs, 5 + 50 * stage.random())),
  ])
  const { sessions } = harness.client
  await using timers = new TimerWatch(harness)
  const client = await harness.start('client', { program: clientProgram, ...wrongClock(offMs) })
  const many = await Promise.all(Array.from({ length: trees }, () => sessions.create({ kind: 'tree', input: tree })))
  const create = () => sessions.create({ kind: 'slow', input: { ms: 2 * leaseMs } })
  const slow = await Promise.all(Array.from({ length: longTurns }, create))
  const signal = AbortSignal.timeout(180_000)
  for (const session of many)
    assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'completed', value: treeResult(tree) })
  for (const session of slow) assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'completed' })
  await client.gone
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  const talks = [...workers.values()].filter(({ record }) => record.kind === 'tally')
  const inputs = talks.map(({ history }) => history.filter(({ type }) => type === 'completed').length)
  assert.deepEqual(inputs, [4, 4, 4], 'what the client sent was not answered')
  // No lease ended before its turn, and no turn was begun twice.
  for (const { id, record } of workers.values()) assert.equal(Number(record.crashes ?? 0), 0, `worker ${id} crashed`)
  const count = (what: string) => harness.ledger.lines(what).length
  assert.deepEqual([count('begun'), count('done'), count('aborted')], [longTurns, longTurns, 0])
  assert.equal(new Set(harness.ledger.lines('begun').map(({ pid }) => pid)).size, nodes.length)
  for (const node of nodes) assert.equal(node.isGone, false, `${node.name} ended`)
  const wrong = [...workers.values()].flatMap(({ history }) => history.map(({ at }) => at - Date.now()))
  assert.ok(Math.min(...wrong) < -0.9 * offMs && Math.max(...wrong) > 0.9 * offMs, 'no clock was wrong')
  const late = (await timers.lateness(lateMsMax + sweepEveryMs + lenientMs)).sort((a, b) => a - b)
  stage.say(
    `${late.length} timers: half of them ${late[late.length >> 1]} ms late at most, the latest ${late.at(-1)} ms`,
  )
  return late.length + slow.length
}

/** The holder's clock is ahead and the heir's behind, or the other way round. */
async function takenOver(stage: Stage, lenientMs: number): Promise<number> {
  await using harness = await stage.open()
  const off = stage.random() < 0.5 ? offMs : -offMs
  const holder = await harness.start('holder', wrongClock(off))
  const create = () => harness.client.sessions.create({ kind: 'slow', input: { ms: 600_000 } })
  const sessions = await Promise.all(Array.from({ length: 5 }, create))
  await waitUntil('all run', () => harness.ledger.lines('begun').length === 5)
  await harness.start('heir', wrongClock(-off))
  // Longer than a lease: who counts it by the wrong clock takes over now.
  await pause(1.5 * leaseMs)
  const again = () => harness.ledger.lines('begun').filter(({ node }) => node === 'heir')
  assert.equal(again().length, 0, 'a turn was taken from a node that lives')
  const killedAt = Date.now()
  await holder.kill()
  await waitUntil('all run again', () => again().length === 5, leaseMs + 10_000 + lenientMs)
  const waits = again().map(({ at }) => at + off - killedAt)
  stage.say(`taken over after ${Math.min(...waits)} to ${Math.max(...waits)} ms`)
  assert.ok(Math.max(...waits) < leaseMs + 5_000 + lenientMs, `a turn was taken over after ${Math.max(...waits)} ms`)
  const signal = AbortSignal.timeout(120_000)
  for (const session of sessions) await session.cancel()
  for (const session of sessions)
    assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'cancelled' })
  await expectInvariants(harness.redis, harness.namespace)
  return sessions.length
}

/** When timers were due, and when they fired: both by Redis' clock. */
class TimerWatch implements AsyncDisposable {
  readonly #harness: Harness
  readonly #due = new Map<string, number>()
  #isOver = false
  readonly #watching: Promise<void>

  constructor(harness: Harness) {
    this.#harness = harness
    this.#watching = this.#watch()
  }

  async #watch(): Promise<void> {
    const { redis, tag } = this.#harness
    while (!this.#isOver) {
      const flat = await redis.zrange(`${tag}:timers`, 0, '-1', 'WITHSCORES')
      for (let at = 0; at < flat.length; at += 2) this.#due.set(flat[at] as string, Number(flat[at + 1]))
      await pause(20)
    }
  }

  /** How late each was, in ms. Throws for one that was early, too late, or never fired. */
  async lateness(msMax: number): Promise<number[]> {
    const fired = await this.#fired()
    assert.ok(this.#due.size > 0, 'no timer was seen')
    // A worker sets its next timer when the one before has fired.
    for (const [worker, times] of Map.groupBy(fired, ([timer]) => timer.slice(0, timer.indexOf(':')))) {
      for (const [index, [, at]] of times.slice(1).entries()) {
        const ms = at - (times[index]?.[1] ?? 0)
        assert.ok(ms >= tree.stepMs, `worker ${worker} waited for ${ms} ms instead of ${tree.stepMs}`)
      }
    }
    return [...this.#due].map(([timer, due]) => {
      const late = (fired.get(timer) ?? Number.NaN) - due
      assert.ok(late >= 0 && late <= msMax, `timer ${timer} fired ${late} ms after it was due`)
      return late
    })
  }

  /** When each timer fired, in that order. */
  async #fired(): Promise<Map<string, number>> {
    const { redis, tag } = this.#harness
    const fired = new Map<string, number>()
    for (const [id, flat] of await redis.xrange(`${tag}:events`, '-', '+')) {
      const [about = '', notes = ''] = flat
      const [, timer] = /"kind":"timer","id":"([^"]+)"/.exec(notes) ?? []
      if (timer !== undefined) fired.set(`${about.split(' ')[1]}:${timer}`, Number(id.split('-')[0]))
    }
    return fired
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#watching
  }
}
