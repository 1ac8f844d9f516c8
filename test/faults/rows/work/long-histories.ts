/** F34: a conversation of many thousands of entries is taken over by a node that has seen nothing of it, and costs no more than a short one. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import type { Entry } from '../../../../src/core/history/entry.ts'
import type { Harness } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { slowNode, sumOfHistory, type TalkPlan } from '../../../support/fault/talk.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const program = new URL('../../../programs/node/talk-node.ts', import.meta.url)
/** Longer than a node reads. */
const policy = { leaseMs: 2_000, renewEveryMs: 500, leaseMarginMs: 300 }
const growing: TalkPlan = { rounds: 9, calls: 16 }
const entriesOfRun = 1 + growing.rounds * (1 + growing.calls) + 2
const warm: TalkPlan = { rounds: 4, calls: 1 }
const dearest = 2

export const longHistoryRow: Row = {
  id: 'F34',
  promise:
    'a history of 50 000 entries is taken over whole, and a warm turn costs at most twice as much as in a short one',
  done: 'a conversation of 50 000 entries (2 000 in the short form); its node dies in a tool; then turns in it and in a short one by turns',
  trials: ({ isLong }) => [
    { name: 'conversation', run: (stage) => longConversation(stage, isLong ? 50_000 : 2_000, isLong ? 60 : 15) },
  ],
}

async function longConversation(stage: Stage, length: number, turns: number): Promise<number> {
  await using harness = await stage.open()
  const holder = await harness.start(slowNode, { program, policy })
  const long = await Talk.begin(harness)
  const grownAt = performance.now()
  await long.grow(Math.ceil(length / entriesOfRun))
  stage.say(`${await long.length()} entries in ${Math.round(performance.now() - grownAt)} ms`)
  assert.ok((await long.length()) >= length, 'the conversation did not grow')

  await long.ask({ rounds: 1, calls: 3, ms: 100_000, isSum: true })
  const looking = () => harness.ledger.lines('looking')
  await waitUntil('its tools run', () => looking().length === 3)
  const before = await long.entries()
  await harness.start('heir', { program, policy })
  const killedAt = Date.now()
  await holder.kill()
  await waitUntil('its tools run again', () => looking().length === 6)
  stage.say(`its tools ran again ${Date.now() - killedAt} ms after the kill, with leases of ${policy.leaseMs} ms`)
  const answer = await long.answer()
  const after = await long.entries()
  assert.deepEqual(after.slice(0, before.length), before, 'what was recorded has changed')
  // Its last words depend on everything that was said before.
  assert.equal(answer, sumOfHistory(after.slice(0, -2)), 'the heir did not know all of it')

  const short = await Talk.begin(harness)
  const [inLong, inShort] = await compare(long, short, turns)
  const ratio = inLong / inShort
  stage.say(
    `${inLong.toFixed(1)} ms with ${await long.length()} entries, ${inShort.toFixed(1)} ms with ${await short.length()}`,
  )
  stage.say(`a turn of the long conversation takes ${ratio.toFixed(2)} times as long`)
  assert.ok(ratio <= dearest, `a turn of the long conversation takes ${ratio.toFixed(2)} times as long`)
  await expectInvariants(harness.redis, harness.namespace)
  return after.length
}

/** The median of each: in turn, so that whatever else slows them slows both. */
async function compare(one: Talk, other: Talk, turns: number): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let turn = 0; turn < turns; turn++) {
    times[0].push(await one.turn())
    times[1].push(await other.turn())
  }
  return [medianOf(times[0]), medianOf(times[1])]
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] as number
}

/** A conversation, with the number of its runs. */
class Talk {
  readonly #session: Session
  #runs = 1

  private constructor(session: Session) {
    this.#session = session
  }

  static async begin({ client }: Harness): Promise<Talk> {
    const limits = { modelCalls: 100_000 }
    const talk = new Talk(await client.sessions.create({ kind: 'talker', input: warm, keepOpen: true, limits }))
    await talk.answer()
    return talk
  }

  async ask(plan: TalkPlan): Promise<void> {
    await this.#session.root.send(plan)
    this.#runs++
  }

  async answer(): Promise<string> {
    const result = await awaitResult(this.#session, { run: this.#runs, msMax: 600_000 })
    assert.ok(result.status === 'completed', `run ${this.#runs} ended as ${JSON.stringify(result)}`)
    return (result.value as { text: string }).text
  }

  async grow(runs: number): Promise<void> {
    for (let run = 0; run < runs; run++) await this.ask(growing)
    await this.answer()
  }

  async entries(): Promise<Entry[]> {
    return (await this.#session.root.history({ limit: 1_000_000 })).map(({ entry }) => entry)
  }

  async length(): Promise<number> {
    return (await this.entries()).length
  }

  async turn(): Promise<number> {
    const begunAt = performance.now()
    await this.ask(warm)
    await this.answer()
    return performance.now() - begunAt
  }
}
