/**
 * The tools that an agent's workers see: lists are shared where they are the same, and only few are kept. Also what a model reads about
 * calls that it wrote wrongly.
 */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import type { Json } from '../../../../src/core/history/chat/chat-message.ts'
import { AgentTools, Toolbox } from '../../../../src/runtime/agent/call/agent-tools.ts'

const names = Array.from({ length: 8 }, (_, number) => `tool_${number}`)
const tools = names.map((name) => defineTool({ name, description: 'x', effect: 'pure', run: () => 1 }))

function lists() {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools }), tools)
  const host = { describeKind: () => '' }
  return (allowed?: readonly string[]) =>
    agent.specs({ assignment: { permissions: { tools: allowed } }, host } as never)
}

/** Each number as another choice of tools. */
const chosen = (number: number) => names.filter((_, bit) => (number >> bit) % 2 === 1)

test('workers with the same tools share one list, even if their permissions name other tools', () => {
  const list = lists()
  expect(list(['tool_1', 'tool_3']).map(({ name }) => name)).toEqual(['tool_1', 'tool_3'])
  expect(list(['tool_3', 'made up', 'tool_1'])).toBe(list(['tool_1', 'tool_3']))
  expect(list()).toBe(list())
  expect(list()).toHaveLength(8)
})

test('few lists are kept, however many different permissions there are', () => {
  const list = lists()
  const first = list(chosen(1))
  for (let number = 2; number <= 100; number++) list(chosen(number))
  expect(list(chosen(1))).toBe(first)
  list(chosen(101))
  expect(list(chosen(1))).not.toBe(first)
  expect(list(chosen(1))).toEqual(first)
})

test('arguments that are not JSON are refused, even for the tools that spawn and send', () => {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools, spawns: ['reader'] }), tools)
  const assignment = { permissions: {} } as never
  const told = (toolName: string, inputText: string) => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName, input: null, inputText } as const
    return agent.check(call, assignment)
  }
  for (const name of ['spawn_workers', 'send_message', 'tool_1']) {
    const text = expect.stringContaining(`Error: invalid arguments for '${name}': arguments are not JSON: `)
    expect(told(name, '{"tasks": [')).toMatchObject({ kind: 'invalid', text })
  }
  expect(told('spawn_workers', '{"tasks":[{"kind":"reader","input":1}]}')).toMatchObject({
    kind: 'accepted',
    input: [{ kind: 'reader', input: 1 }],
  })
})

describe('kinds to spawn', () => {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools, spawns: ['reader', 'writer'] }), tools)
  const listed = (kinds?: readonly string[], describeKind: (kind: string) => string = () => '') =>
    agent.specs({ assignment: { permissions: { kinds } }, host: { describeKind } } as never)
  const check = (toolName: string, input: Json, kinds?: readonly string[]) =>
    agent.check({ type: 'tool-call', toolCallId: 'c1', toolName, input }, { permissions: { kinds } } as never)
  const tasks = (kind: string) => ({ tasks: [{ kind, input: 1 }] })

  test('kinds to spawn are the kinds of the definition that the permissions name too (AGENT-TOOLS-1)', () => {
    expect(JSON.stringify(listed())).toMatch(/reader.*writer/)
    expect(JSON.stringify(listed(['writer', 'other']))).not.toMatch(/reader|other/)
    expect(check('spawn_workers', tasks('writer'), ['writer', 'other'])).toMatchObject({ kind: 'accepted' })
    for (const kind of ['reader', 'other'])
      expect(check('spawn_workers', tasks(kind), ['writer', 'other'])).toMatchObject({ kind: 'invalid' })
  })

  test('kinds to spawn decide whether the two tools of delegation exist: without a kind there is no send_message', () => {
    expect(listed([])).toHaveLength(tools.length)
    for (const [name, input] of [
      ['spawn_workers', tasks('reader')],
      ['send_message', { to: 'parent', text: 'hi' }],
    ] as const) {
      expect(check(name, input)).toMatchObject({ kind: 'accepted' })
      const text = expect.stringContaining(`unknown tool '${name}'`)
      expect(check(name, input, [])).toMatchObject({ kind: 'invalid', text })
    }
  })

  test('kinds to spawn are described as the node knows them now', () => {
    expect(JSON.stringify(listed())).not.toContain('reads')
    expect(JSON.stringify(listed(undefined, (kind) => `${kind} reads`))).toContain('reader: reader reads')
  })
})

test('a started call whose arguments cannot be read keeps the text that the model wrote', () => {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools }), tools)
  const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'tool_1', input: null, inputText: '{"a":' } as const
  const invalid = [{ kind: 'invalid', call, text: 'x' }] as const
  expect(agent.locals(invalid, new Set(['c1']))).toMatchObject([{ input: '{"a":', isLost: true }])
  expect(agent.locals(invalid, new Set())).toEqual([])
})

describe('a source of tools', () => {
  const definition = defineWorker({ instructions: 'x', tools })
  const within = { signal: new AbortController().signal, host: { policy: { hookMs: 1_000 } } } as never

  test('a source of tools is asked each time the toolbox is opened, and may answer later (AGENT-TOOLS-2)', async () => {
    const [first, second] = [tools.slice(0, 1), tools.slice(1, 2)]
    const lists = [first, first, second]
    const toolbox = new Toolbox(definition, { tools: () => Promise.resolve(lists.shift() ?? []) })
    const opened = [await toolbox.open(within), await toolbox.open(within), await toolbox.open(within)] as const
    const turn = { assignment: { permissions: {} }, host: { describeKind: () => '' } } as never
    expect(opened.map((agent) => agent.specs(turn).map(({ name }) => name))).toEqual([
      ['tool_0'],
      ['tool_0'],
      ['tool_1'],
    ])
    expect(opened[1]).toBe(opened[0])
  })

  test('a source of tools is the list of the definition by default', async () => {
    const toolbox = new Toolbox(definition)
    expect(await toolbox.open(within)).toBe(await toolbox.open(within))
  })
})
