/** No worker gets what it may not use by asking another worker for it. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'

const ran: unknown[] = []
const pay = defineTool({
  name: 'pay',
  description: 'x',
  effect: 'once',
  approval: 'never',
  run: () => void ran.push('paid'),
})
const asker = defineWorker({
  receive(message, self) {
    self.send(message.value as string, 'pay, please')
    self.reply('asked')
  },
})

test('a run that began with a message of a restricted worker lacks the tools that this worker lacks, and the next run has them again', async () => {
  ran.length = 0
  const model = recordedModel('test/clerk', [say('ready'), call('pay'), say('no'), call('pay'), say('paid')])
  const clerk = defineWorker({ instructions: 'x', model, tools: [pay] })
  await using troupe = await TestTroupe.start({ workers: { clerk, asker } })
  const session = await troupe.create('clerk', 'go', { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ value: { text: 'ready' } })
  await troupe.run('asker', session.rootId, { permissions: { tools: [] } })
  expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'no' } })
  expect(ran).toEqual([])
  expect(model.requests[1]?.tools).toEqual([])
  await session.root.send('pay')
  expect(await session.result({ run: 3 })).toMatchObject({ value: { text: 'paid' } })
  expect(ran).toEqual(['paid'])
})

test("an agent's message to a worker of another session is refused, and its model reads why", async () => {
  await using troupe = await TestTroupe.connect()
  const other = await troupe.create('asker', null, { keepOpen: true })
  const model = recordedModel('test/agent', [call('send_message', { to: other.rootId, text: 'hi' }), say('done')])
  await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, spawns: ['asker'] }), asker })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ value: { text: 'done' } })
  expect(JSON.stringify(model.requests[1])).toContain('An agent sends within its session')
})

test("an agent's message of a dry run stays in its session, though its permissions name a worker of another one", async () => {
  await using troupe = await TestTroupe.connect()
  const sink = await troupe.create('sink', 'first', { keepOpen: true })
  const model = recordedModel('test/agent', ({ messages }) => {
    const last = JSON.stringify(messages.at(-1))
    if (last.includes('write')) return call('send_message', { to: sink.rootId, text: 'hi' })
    return say(last.includes('sends within its session') ? 'not sent' : 'ok')
  })
  const sinks = defineWorker({ receive: (_message, self) => self.reply(null) })
  await troupe.startNode({ agent: defineWorker({ instructions: 'x', model, spawns: ['sink'] }), sink: sinks })
  const permissions = { send: [sink.rootId] }
  const session = await troupe.create('agent', 'go', { keepOpen: true, permissions })
  await session.result({ run: 1 })
  const dry = await session.fork({ dryRun: true })
  await dry.root.send('write')
  expect(await dry.result({ run: 2 })).toMatchObject({ value: { text: 'not sent' } })
  await session.root.send('write')
  expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'ok' } })
  await sink.result({ run: 2 })
  const received = (await troupe.history(sink.rootId)).filter(({ type }) => type === 'received')
  expect(received).toHaveLength(2)
})

test('a worker without the right to send fails with the code that says so', async () => {
  await using troupe = await TestTroupe.start({ workers: { asker } })
  const other = await troupe.create('asker', null, { keepOpen: true })
  expect(await troupe.run('asker', other.rootId, { permissions: { send: 'none' } })).toMatchObject({
    status: 'failed',
    failure: { code: 'permission_exceeded', message: expect.stringContaining(other.rootId) },
  })
})
