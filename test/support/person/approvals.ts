/** An agent with a tool that asks for approvals, and what tests of approvals look at. */
import { expect } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../../src/client/person/asks.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, type ScriptedReply } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../fault/oracle.ts'
import { type RecordedModel, recordedModel } from '../provider/recorded-model.ts'
import type { TestTroupe } from '../test-troupe.ts'
import { awaitResult } from '../time/await-session.ts'
import { waitUntil } from '../time/wait-until.ts'

export const instructions = 'Pay.'
export const scripted = (...replies: readonly (ScriptedReply | Error)[]) => recordedModel('test/m', replies)
export const pay = (amount: number, id = `pay-${amount}`) => call('pay', { amount }, id)
export const look = (id = 'look') => call('look', {}, id)

/** The tool that asks, one that does not, and what they did. */
export function tools() {
  const ledger: string[] = []
  const note = (what: string) => {
    ledger.push(what)
    return what
  }
  const pays = defineTool({
    name: 'pay',
    description: 'Pays.',
    effect: 'once',
    approval: 'always',
    input: z.object({ amount: z.number().positive() }),
    run: ({ amount }) => note(`paid ${amount}`),
  })
  const looks = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => note('looked') })
  return { ledger, tools: [pays, looks] }
}

/** What the newest request tells of the calls before it. */
export function told(model: RecordedModel): unknown[] {
  const messages = model.requests.at(-1)?.messages ?? []
  return messages.flatMap((message) =>
    message.role === 'tool' ? message.results.map(({ output }) => (output as { value: unknown }).value) : [],
  )
}

export async function openAsks(troupe: TestTroupe, count = 1): Promise<Ask[]> {
  return waitUntil('the asks are open', async () => {
    const asks = await troupe.client.asks.list()
    return asks.length === count && asks
  })
}

export const isParked = (session: Session) =>
  waitUntil('it is parked', async () => (await session.root.report()).status === 'parked')

export const resultOf = (session: Session) => awaitResult(session)

export async function expectSound(troupe: TestTroupe) {
  expect((await troupe.client.audit()).findings).toEqual([])
  await expectInvariants(troupe.redis, troupe.namespace)
}
