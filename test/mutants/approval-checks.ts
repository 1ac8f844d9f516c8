/** Short checks of approvals, which run against sources without one guard (agent-checks.ts). */
import { expect } from 'vitest'
import type { Ask } from '../../src/client/person/asks.ts'
import type { Session } from '../../src/client/session/session.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say, together } from '../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../src/store/keys.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

/** A parked session whose model makes two calls, `a` and `b`, that ask. `ran`: those that ran. */
class Asking implements AsyncDisposable {
  readonly ran: string[] = []
  readonly troupe: TestTroupe
  readonly session: Session
  readonly #asks: readonly Ask[]
  readonly #restart: () => Promise<unknown>

  private constructor(troupe: TestTroupe, session: Session, asks: readonly Ask[], restart: () => Promise<unknown>) {
    this.troupe = troupe
    this.session = session
    this.#asks = asks
    this.#restart = restart
  }

  static async open(redisUrl: string): Promise<Asking> {
    const troupe = await TestTroupe.connect({ redisUrl })
    const run = (input: unknown) => void asking.ran.push((input as { note: string }).note)
    const act = defineTool({ name: 'act', description: 'x', effect: 'idempotent', approval: 'always', run })
    const calls = ['a', 'b'].map((note) => call('act', { note }, note))
    const model = recordedModel('test/m', [together(...calls), say('done')])
    const start = () => troupe.startNode({ agent: defineWorker({ instructions: 'x', model, tools: [act] }) })
    await start()
    const session = await troupe.create('agent', 'go')
    const asks = await waitUntil('it asks', async () => {
      const open = await session.asks()
      return open.length === 2 && open
    })
    const asking = new Asking(troupe, session, asks, start)
    await asking.untilParked()
    return asking
  }

  async untilParked(): Promise<void> {
    await waitUntil('it is parked', async () => (await this.session.root.report()).status === 'parked')
  }

  async answer(note: string, answer: string): Promise<void> {
    const ask = this.#asks.find(({ question }) => question.includes(`"${note}"`))
    await this.troupe.client.asks.answer(ask?.id as string, answer)
  }

  /** Changes the arguments of `a` in the history while no node runs. */
  async changeHistory(): Promise<void> {
    await this.troupe.nodes[0]?.stop()
    const { log } = workerKeys(this.troupe.tag, this.session.rootId)
    for (const [index, text] of (await this.troupe.redis.lrange(log, 0, -1)).entries())
      await this.troupe.redis.lset(log, index, text.replace('"note":"a"', '"note":"c"'))
    await this.#restart()
  }

  /** The worker has taken so many answers and waits for more, or the session is over. */
  async untilTaken(answers: number): Promise<void> {
    await waitUntil('the answers are taken', async () => {
      const entries = await this.troupe.history(this.session.rootId)
      if (entries.some(({ type }) => type === 'completed')) return true
      const { status } = await this.session.root.report()
      return status === 'parked' && entries.filter(({ type }) => type === 'received').length >= answers
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.troupe[Symbol.asyncDispose]()
  }
}

export async function nothingRunsBeforeAllIsDecided(redisUrl: string): Promise<void> {
  await using asking = await Asking.open(redisUrl)
  await asking.answer('a', 'approve')
  await asking.untilTaken(1)
  expect(asking.ran).toEqual([])
}

export async function whatRunsIsWhatWasApproved(redisUrl: string): Promise<void> {
  await using asking = await Asking.open(redisUrl)
  await asking.changeHistory()
  await asking.answer('a', 'approve')
  await asking.answer('b', 'approve')
  await asking.untilTaken(2)
  expect(asking.ran).toEqual([])
}

export async function aDenialDeniesTheReply(redisUrl: string): Promise<void> {
  await using asking = await Asking.open(redisUrl)
  await asking.answer('a', 'approve')
  await asking.answer('b', 'deny')
  await asking.untilTaken(2)
  expect(asking.ran).toEqual([])
}
