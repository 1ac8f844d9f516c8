/** What somebody sets for one living agent: its model, its settings, its tools. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { expectSound } from '../../support/person/approvals.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const instructions = 'Work.'
const tool = (name: string) => defineTool({ name, description: 'Looks.', effect: 'pure', run: () => 'seen' })

async function talking() {
  const first = recordedModel('test/first', (_request, number) => ({
    ...say(`first ${number}`),
    content: [
      { type: 'reasoning', text: 'because', providerOptions: { test: { signature: 's' } } },
      { type: 'text', text: `first ${number}` },
    ],
  }))
  const second = recordedModel('test/second', (_request, number) => say(`second ${number}`))
  const picky = { ...second, id: 'test/picky', settingProblem: () => 'test/picky takes no effort.' }
  const agent = defineWorker({
    instructions,
    model: 'test/first',
    settings: { temperature: 0.5, effort: 'low' },
    tools: [tool('look'), tool('count')],
  })
  const modelsByName = { 'test/first': first, 'test/second': second, 'test/picky': picky }
  const troupe = await TestTroupe.start({ workers: { agent }, modelsByName })
  const session = await troupe.create('agent', 'go', { keepOpen: true })
  await session.result({ run: 1 })
  const rests = () => waitUntil('it rests', async () => (await session.root.report()).status === 'idle')
  await rests()
  return { agent, troupe, session, first, second, rests, [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose]() }
}

describe('an agent that is configured', () => {
  test('a configured agent asks another model with other settings from its next run on, and shows it [1.8, 4.12]', async () => {
    await using made = await talking()
    const { session, troupe, first, second } = made
    const set = { model: 'test/second', settings: { effort: 'high' as const }, tools: ['look'] }
    expect(await session.root.configure(set)).toEqual(set)
    expect(await session.root.report()).toMatchObject({ configured: set, status: 'idle' })
    await session.root.send('more')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'second 1' } })
    expect(second.requests[0]).toMatchObject({ settings: { temperature: 0.5, effort: 'high' } })
    expect(second.requests[0]?.tools.map(({ name }) => name)).toEqual(['look'])
    expect(first.requests).toHaveLength(1)
    expect(await troupe.history(session.rootId)).toContainEqual(expect.objectContaining({ type: 'configured', ...set }))
    await expectSound(troupe)
  })

  test('a configured agent names in its prompts the model that wrote each reply, so that signed reasoning goes back to that model alone [4.10]', async () => {
    await using made = await talking()
    const { session, second } = made
    await session.root.configure({ model: 'test/second' })
    await session.root.send('more')
    await session.result({ run: 2 })
    expect(second.requests[0]?.messages[1]).toMatchObject({ role: 'assistant', model: 'test/first' })
  })

  test('a configured agent gives up a model that its node does not know any more', async () => {
    await using made = await talking()
    const { session, troupe, first } = made
    await session.root.configure({ model: 'test/second' })
    await troupe.nodes[0]?.stop()
    await troupe.startNode({ agent: made.agent }, { modelsByName: { 'test/first': first } })
    expect(await session.root.configure({ model: null })).toEqual({})
    await session.root.send('more')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'first 2' } })
    await expectSound(troupe)
  })

  test('a configured agent keeps settings that are not named, and null takes a setting back', async () => {
    await using made = await talking()
    const { root } = made.session
    await root.configure({ model: 'test/second', tools: [] })
    expect(await root.configure({ settings: { temperature: 0 } })).toEqual({
      model: 'test/second',
      tools: [],
      settings: { temperature: 0 },
    })
    expect(await root.configure({ model: null, tools: null, settings: null })).toEqual({})
    expect(await root.report()).toMatchObject({ configured: null })
  })

  test('a configured agent refuses settings that its kind or its node does not know, and stays as it is', async () => {
    await using made = await talking()
    const { root } = made.session
    const wrong = [
      [{ model: 'nobody/knows' }, /nobody/],
      [{ model: 'test/picky' }, /takes no effort/],
      [{ tools: ['look', 'fly'] }, /its kind has no tool "fly"; it has look, count/],
      [{ settings: { efort: 'high' } as never }, /does not know "efort"/],
      [{}, /at least one of model, settings, tools/],
    ] as const
    for (const [change, why] of wrong) await expect(root.configure(change)).rejects.toThrow(why)
    expect(await root.report()).toMatchObject({ configured: null })
    await expectSound(made.troupe)
  })
})

describe('a kind with mergeInput', () => {
  test('a kind with mergeInput begins a run with all inputs that wait, as one message [4.12]', async () => {
    const gate = Promise.withResolvers<void>()
    const model = recordedModel('test/m', async (_request, number) => {
      if (number === 1) await gate.promise
      return say(`reply ${number}`)
    })
    const agent = defineWorker({ instructions, model, mergeInput: true })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    await waitUntil('the model is asked', () => model.requests.length === 1)
    for (const text of ['two', 'three', 'four']) await session.root.send(text)
    gate.resolve()
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'reply 2' } })
    const last = model.requests[1]?.messages.at(-1)
    expect(last?.role === 'user' && last.content.map((block) => 'text' in block && block.text)).toEqual([
      'two',
      'three',
      'four',
    ])
    await waitUntil('it rests', async () => (await session.root.report()).status === 'idle')
    expect(await session.root.report()).toMatchObject({ runs: 2, mailbox: { pending: 0 } })
    await expectSound(troupe)
  })
})
