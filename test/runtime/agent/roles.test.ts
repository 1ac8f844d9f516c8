/** Which tools a role leaves an agent, and inputs that say nothing. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { tool } from '../../support/provider/run-agent.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const ran: string[] = []
const record = (name: string) => () => {
  ran.push(name)
  return 'done'
}
const look = tool('look', record('look'))
const write = tool('write', record('write'), 'once')
const mark = tool('mark', record('mark'), 'idempotent')
const burn = defineTool({
  name: 'burn',
  description: 'Burns.',
  effect: 'pure',
  dangerous: true,
  run: record('burn'),
})

const offered = (model: ReturnType<typeof recordedModel>) => model.requests[0]?.tools.map(({ name }) => name)

describe('a role', () => {
  test.each([
    ['planner', ['look']],
    ['actor', ['look', 'write', 'mark', 'burn']],
    [undefined, ['look', 'write', 'mark', 'burn']],
  ] as const)('a role %s leaves the tools %j to the model [3.22]', async (role, names) => {
    const model = recordedModel('test/m', [say('ok')])
    const agent = defineWorker({ instructions: 'x', model, tools: [look, write, mark, burn], ...(role && { role }) })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    await troupe.run('agent', 'go')
    expect(offered(model)).toEqual(names)
  })

  test('the role planner runs nothing that writes, even if its model calls it or a resolver names it [3.22]', async () => {
    ran.length = 0
    const model = recordedModel('test/m', (request) =>
      request.messages.length > 1 ? say('ok') : call('write', {}, 'c1'),
    )
    const listed = defineWorker({ instructions: 'x', model, tools: [look, write], role: 'planner' })
    const other = recordedModel('test/m', (request) =>
      request.messages.length > 1 ? say('ok') : call('look', {}, 'c1'),
    )
    const resolving = defineWorker({
      instructions: 'x',
      model: other,
      tools: { availableTools: () => [look], resolve: () => write },
      role: 'planner',
    })
    await using troupe = await TestTroupe.start({ workers: { listed, resolving } })
    for (const kind of ['listed', 'resolving']) {
      const session = await troupe.create(kind, 'go')
      expect(await session.result()).toMatchObject({ status: 'completed' })
      const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
      expect(results).toMatchObject([{ status: 'error' }])
    }
    expect(ran).toEqual([])
  })

  test('an unknown role, or a planner that spawns, is refused', () => {
    const agent = { instructions: 'x', model: recordedModel('test/m', [say('ok')]) }
    expect(() => defineWorker({ ...agent, role: 'boss' as never })).toThrow('role must be one of planner, actor')
    expect(() => defineWorker({ ...agent, role: 'planner', spawns: ['a'] })).toThrow('a planner only reads')
  })
})

test.each(['', ' \n'])('an input that is the empty text %j fails the run with a clear error [3.22]', async (input) => {
  const model = recordedModel('test/m', [say('ok')])
  await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
  expect(await troupe.run('agent', input)).toMatchObject({
    status: 'failed',
    failure: { code: 'input_invalid', message: 'the input of agent is an empty text: write what it is to do.' },
  })
  expect(model.requests).toEqual([])
})
