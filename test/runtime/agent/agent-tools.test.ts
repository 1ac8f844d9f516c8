/**
 * The lists of tools that an agent's workers are shown: shared where they are the same, and not kept without a bound. And what a model
 * is told of calls that it wrote wrongly.
 */
import { expect, test } from 'vitest'
import { defineTool } from '../../../src/core/define-tool.ts'
import { defineWorker } from '../../../src/core/define-worker.ts'
import { AgentTools } from '../../../src/runtime/agent/agent-tools.ts'

const names = Array.from({ length: 8 }, (_, number) => `tool_${number}`)
const tools = names.map((name) => defineTool({ name, description: 'x', effect: 'pure', run: () => 1 }))

function lists() {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools }))
  const host = { describeKind: () => '' }
  return (allowed?: readonly string[]) => agent.specs({ grant: { allowed: { tools: allowed } }, host } as never)
}

/** Each number as another choice of tools. */
const chosen = (number: number) => names.filter((_, bit) => (number >> bit) % 2 === 1)

test('workers with the same tools share one list, whatever else their grants name', () => {
  const list = lists()
  expect(list(['tool_1', 'tool_3']).map(({ name }) => name)).toEqual(['tool_1', 'tool_3'])
  expect(list(['tool_3', 'made up', 'tool_1'])).toBe(list(['tool_1', 'tool_3']))
  expect(list()).toBe(list())
  expect(list()).toHaveLength(8)
})

test('however many grants there are, few lists are kept', () => {
  const list = lists()
  const first = list(chosen(1))
  for (let number = 2; number <= 100; number++) list(chosen(number))
  expect(list(chosen(1))).toBe(first)
  list(chosen(101))
  expect(list(chosen(1))).not.toBe(first)
  expect(list(chosen(1))).toEqual(first)
})

test('arguments that are no JSON are said to be none, those of children and messages too', () => {
  const agent = new AgentTools(defineWorker({ instructions: 'x', tools, spawns: ['reader'] }))
  const grant = { allowed: {} } as never
  const told = (toolName: string, inputText: string) => {
    const call = { type: 'tool-call', toolCallId: 'c1', toolName, input: null, inputText } as const
    return agent.check(call, grant)
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
