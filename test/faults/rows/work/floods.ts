/** F35: one worker is sent far more than it can take. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import { RuntimeError } from '../../../../src/core/errors.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { leniencyMs, type Row, type Stage } from '../../row.ts'

const sendersAtOnce = 50
/** Others share the machine with the flood: slower, but never held up. */
const otherMsMax = 5_000

export const floodRow: Row = {
  id: 'F35',
  promise:
    'a full mailbox refuses what is too much with `mailbox_full`; what it took is received in order; others go on',
  done: '100 000 sends to one worker, 1000 may wait (2000 sends, 100 wait in the short form); others on the same node; a trial is a send',
  trials: (scale) => {
    const [count, mailbox] = scale.isLong ? [100_000, 1_000] : [2_000, 100]
    return [{ name: 'flood', run: (stage) => flood(stage, count, mailbox, otherMsMax + leniencyMs(scale)) }]
  },
}

async function flood(stage: Stage, count: number, mailbox: number, msMax: number): Promise<number> {
  await using harness = await stage.open()
  await harness.start('a')
  const { sessions } = harness.client
  const flooded = await sessions.create({ kind: 'tally', input: -1, keepOpen: true, limits: { mailbox } })
  const others = new Others(harness)
  for (let number = 0; number < 20; number++) await others.run()
  const quiet = medianOf(others.times.splice(0))

  const accepted = new Map<number, number>()
  let refused = 0
  const over = new AbortController()
  const running = (async () => {
    while (!over.signal.aborted) await others.run()
  })()
  running.catch(() => {})
  let next = 0
  const sender = async () => {
    while (next < count) {
      const value = next++
      const place = await positionOf(flooded, value)
      if (place === null) refused++
      else accepted.set(place, value)
    }
  }
  await Promise.all(Array.from({ length: sendersAtOnce }, sender))
  over.abort()
  await running
  stage.say(`${accepted.size} accepted, ${refused} refused`)
  stage.say(
    `others: ${quiet.toFixed(1)} ms before, ${medianOf(others.times).toFixed(1)} ms meanwhile (${others.times.length} runs)`,
  )
  assert.equal(accepted.size + refused, count)
  assert.ok(refused > 0, 'nothing was refused: this was no flood')
  const slowest = Math.max(...others.times)
  assert.ok(others.times.length > 0 && slowest < msMax, `another worker took ${slowest} ms`)
  await expectOrder(flooded, accepted)
  await expectInvariants(harness.redis, harness.namespace)
  return count
}

/** Null when the mailbox was full; nothing else may stop it. */
async function positionOf(session: Session, value: number): Promise<number | null> {
  try {
    return (await session.root.send(value)).position
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'mailbox_full') return null
    throw error
  }
}

async function expectOrder(session: Session, accepted: ReadonlyMap<number, number>): Promise<void> {
  const runs = accepted.size + 1
  await awaitResult(session, { run: runs, msMax: 300_000 })
  const history = await session.root.history({ limit: 10 * runs })
  const received = history.flatMap(({ entry }) =>
    entry.type === 'received' && entry.message.kind === 'input' ? [entry.message.value] : [],
  )
  const sent = [...accepted].sort(([a], [b]) => a - b).map(([, value]) => value)
  assert.deepEqual(received, [-1, ...sent], 'what was accepted was not received in order')
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN
}

/** Other work on the same node, one after the other: new sessions, and messages to a worker that is there already. */
class Others {
  readonly times: number[] = []
  readonly #harness: Harness
  #talk: Session | undefined
  #runs = 1
  #isTalking = false

  constructor(harness: Harness) {
    this.#harness = harness
  }

  async run(): Promise<void> {
    const { sessions } = this.#harness.client
    const signal = AbortSignal.timeout(180_000)
    const begunAt = performance.now()
    this.#isTalking = !this.#isTalking
    if (this.#isTalking && this.#talk) {
      await this.#talk.root.send(1)
      await this.#talk.result({ run: ++this.#runs, signal })
    } else if (this.#isTalking) {
      this.#talk = await sessions.create({ kind: 'tally', input: 1, keepOpen: true })
      await this.#talk.result({ run: 1, signal })
    } else {
      const session = await sessions.create({ kind: 'quick', input: begunAt })
      assert.partialDeepStrictEqual(await session.result({ signal }), { status: 'completed', value: begunAt })
    }
    this.times.push(performance.now() - begunAt)
  }
}
