/** Messages that steer or interrupt, and stand behind an order, or are one of several that a run begins with: each is received once. */
import { expect, test } from 'vitest'
import type { AgentWorker } from '../../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { SendTime } from '../../../../src/core/worker/message/steer.ts'
import { chat } from '../../../../src/index.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { expectSound } from '../../../support/person/approvals.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

interface Case {
  readonly name: string
  readonly order: 'compact' | 'configure' | 'run' | 'none'
  readonly messages: readonly SendTime[]
  readonly kind?: Partial<AgentWorker>
}

const cases: readonly Case[] = [
  { name: 'a steering message behind a summary', order: 'compact', messages: ['steer'] },
  { name: 'an interrupting message behind a summary', order: 'compact', messages: ['interrupt'] },
  {
    name: 'an interrupting message behind a summary and another message',
    order: 'compact',
    messages: ['queue', 'interrupt'],
  },
  { name: 'an interrupting message behind settings', order: 'configure', messages: ['interrupt'] },
  { name: 'an interrupting message behind an order to run', order: 'run', messages: ['interrupt', 'queue'] },
  {
    name: 'an interrupting message behind a summary and another message, for a kind with gates',
    order: 'compact',
    messages: ['queue', 'interrupt'],
    kind: { concurrency: { most: 1 } },
  },
  {
    name: 'an interrupting message behind a summary and another message that a processor looks at',
    order: 'compact',
    messages: ['queue', 'interrupt'],
    kind: { mergeInput: true, hooks: { prompt: [() => undefined] } },
  },
  {
    name: 'a steering message that its run begins with beside another',
    order: 'none',
    messages: ['queue', 'steer'],
    kind: { mergeInput: true },
  },
]

test.each(cases)('$name is received once, and the order is carried out', async ({ order, messages, kind }) => {
  const model = recordedModel('test/m', () => say('Yes.'))
  const agent = defineWorker({ instructions: 'Work.', model, ...kind })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const history = Array.from({ length: order === 'run' ? 11 : 12 }, (_, index) =>
    index % 2 === 0 ? chat.user('Why?') : chat.assistant('So.'),
  )
  const session = await troupe.client.sessions.create({ kind: 'agent', history, keepOpen: true })
  await session.pause()
  const { root } = session
  const orders = {
    compact: () => root.compact(),
    configure: () => root.configure({ settings: { temperature: 1 } }),
    run: () => root.run(),
    none: () => null,
  }
  const ordered = orders[order]()
  if (ordered !== null) await waitUntil('the order is there', async () => (await root.report()).mailbox.pending === 1)
  for (const [index, when] of messages.entries()) await root.send(`message ${index}`, { when })
  await session.resume()
  await awaitIdle(session)
  await ordered
  const entries = await troupe.history(session.rootId)
  const said = entries.flatMap(
    (entry) => (entry.type === 'user' && JSON.stringify(entry).match(/message \d/)?.[0]) || [],
  )
  expect(said).toEqual(messages.map((_, index) => `message ${index}`))
  await expectSound(troupe)
})
