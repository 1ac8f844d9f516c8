/** The states of a run with their data, and tool calls as the design writes them. */
import { describe, expect, test } from 'vitest'
import type { AssistantMessage, ToolCallBlock } from '../../../../src/core/history/chat/chat-message.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import { ContextContainer } from '../../../../src/core/history/context-container.ts'
import { contextStateOf, sortOfArguments, toolCallRequests } from '../../../../src/core/history/run/context-state.ts'
import type { Failure } from '../../../../src/core/worker/run/failure.ts'
import { runStates } from '../../../../src/core/worker/run/run-state.ts'

const failure: Failure = {
  code: 'model_unavailable',
  message: 'the provider is down',
  origin: 'model',
  at: 7,
  attempt: 2,
  retryable: true,
}
const call = (toolCallId: string, input: unknown): ToolCallBlock => ({
  type: 'tool-call',
  toolCallId,
  toolName: `tool_${toolCallId}`,
  input: input as ToolCallBlock['input'],
})
const reply = (...content: ToolCallBlock[]) => ({ content }) as Pick<AssistantMessage, 'content'>

describe('arguments', () => {
  test.each([
    ['/etc/hosts', 'string'],
    [['a', 'b'], 'stringList'],
    [[], 'stringList'],
    [['a', 1], 'json'],
    [{ query: 'x' }, 'json'],
    [null, 'json'],
    [7, 'json'],
  ] as const)('arguments %j are of the type %s', (given, sort) => expect(sortOfArguments(given as string)).toBe(sort))
})

describe('toolCallRequests', () => {
  test('name each call of a reply with its arguments and how its approval stands', () => {
    const approvals = new Map([
      ['1', { status: 'pending' }],
      ['2', { status: 'denied' }],
    ] as const)
    const broken = { ...call('4', {}), inputText: '{"a":' }
    const asked = reply(call('1', '/etc/hosts'), call('2', ['a']), call('3', { q: 1 }), broken)
    expect(toolCallRequests(asked, approvals)).toEqual([
      { id: '1', toolName: 'tool_1', arguments: '/etc/hosts', approvalStatus: 'pending' },
      { id: '2', toolName: 'tool_2', arguments: ['a'], approvalStatus: 'denied' },
      { id: '3', toolName: 'tool_3', arguments: { q: 1 }, approvalStatus: 'approved' },
      { id: '4', toolName: 'tool_4', arguments: '{"a":', approvalStatus: 'approved' },
    ])
  })
})

describe('contextStateOf', () => {
  test.each(runStates)('gives the state %s under its name', (run) => {
    expect(contextStateOf({ run, lastFailure: null })).toMatchObject({ state: run })
  })

  test('contextStateOf gives with a failure what failed, how often, and where the run goes on', () => {
    expect(contextStateOf({ run: 'TransientFailure', lastFailure: failure })).toEqual({
      state: 'TransientFailure',
      error: 'the provider is down',
      retryCount: 2,
      origin: 'model',
    })
    expect(contextStateOf({ run: 'Failed', lastFailure: failure })).toEqual({
      state: 'Failed',
      error: 'the provider is down',
      failedAt: 7,
    })
  })

  test('contextStateOf gives with open calls their requests, and with an error of a tool its text', () => {
    const context = new ContextContainer({
      sessionId: 's',
      workerId: 'w',
      name: 'n',
      kind: 'k',
      parentId: null,
      depth: 0,
    })
    const { history } = context
    history.push(chat.user('go'))
    history.push(chat.assistant([call('1', { a: 1 }), call('2', {})]))
    expect(contextStateOf({ run: 'ExecutingTools', lastFailure: null }, context)).toMatchObject({
      state: 'ExecutingTools',
      requests: [{ id: '1' }, { id: '2' }],
    })
    history.push({
      ...chat.tool('1', '', { toolName: 'tool_1' }),
      status: 'error',
      output: { type: 'error-text', value: 'bad' },
    })
    expect(contextStateOf({ run: 'HandlingToolError', lastFailure: null }, context)).toEqual({
      state: 'HandlingToolError',
      toolName: 'tool_1',
      error: 'bad',
    })
    expect(contextStateOf({ run: 'ExecutingTools', lastFailure: null }, context)).toMatchObject({
      requests: [{ id: '2', approvalStatus: 'approved' }],
    })
  })
})
