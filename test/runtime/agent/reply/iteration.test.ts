/** One iteration: what a reply means, and which of its calls may run. */
import { describe, expect, test } from 'vitest'
import type { AssistantBlock, ToolCallBlock } from '../../../../src/core/history/chat/chat-message.ts'
import { type AcceptedCall, runStages } from '../../../../src/runtime/agent/iteration.ts'

const text = (words: string): AssistantBlock => ({ type: 'text', text: words })
const calling = (toolName: string): ToolCallBlock => ({ type: 'tool-call', toolCallId: toolName, toolName, input: {} })
const checked: string[] = []
const rules = {
  who: 'worker w',
  callsPerReply: 4,
  check(call: ToolCallBlock) {
    checked.push(call.toolName)
    return call.toolName === 'bad'
      ? { kind: 'invalid' as const, call, text: 'no' }
      : { kind: 'accepted' as const, call, input: 1, verdict: { do: 'run' as const } }
  },
  isTerminal: ({ call }: AcceptedCall) => call.toolName === 'end',
  approve: (one: AcceptedCall): AcceptedCall =>
    one.call.toolName === 'asks' ? { ...one, verdict: { do: 'ask', why: 'it asks', eachTime: false } } : one,
}
const stagesOf = (content: AssistantBlock[], iterations = 1, most = 3, toolCalls = 1) =>
  runStages({ content }, { iterations, toolCalls }, { ...rules, most: { iterations: most, toolCalls: 9 } })

describe('a reply', () => {
  test.each([
    ['without anything', []],
    ['of white space', [text(' \n')]],
  ])('a reply of %s is blank at any iteration', (_, content) => {
    const blank = { decision: 'blank', error: null, calls: [], checked: [], trace: ['parse_blank_stop'] }
    expect(stagesOf(content)).toMatchObject(blank)
    expect(stagesOf(content, 3, 3)).toMatchObject(blank)
  })

  test('a reply with text and without calls is the answer, also at the last iteration [0.9, 2.5, 2.10]', () => {
    const done = { decision: 'done', error: null, calls: [], trace: ['parse_no_tools'] }
    expect(stagesOf([text('yes')])).toMatchObject(done)
    expect(stagesOf([text('yes')], 3, 3)).toMatchObject(done)
  })

  test('a reply with calls continues with each call checked, in order (ITERATION-2) [2.2, 2.3, 2.10]', () => {
    checked.length = 0
    const iteration = stagesOf([text('I look'), calling('good'), calling('bad'), calling('other')], 2)
    expect(iteration).toMatchObject({ used: { iterations: 2 }, decision: 'continue', error: null })
    expect(iteration.calls.map(({ toolName }) => toolName)).toEqual(['good', 'bad', 'other'])
    expect(iteration.checked.map(({ kind }) => kind)).toEqual(['accepted', 'invalid', 'accepted'])
    expect(iteration.trace).toEqual(['parse_tool_calls', 'validate_calls', 'budget_ok', 'approve_all'])
    expect(checked).toEqual(['good', 'bad', 'other'])
  })

  test('a reply with calls at the last iteration is an error, and no call is approved (ITERATION-1) [2.4, 2.7]', () => {
    for (const number of [3, 4]) {
      const iteration = stagesOf([calling('good'), calling('good')], number, 3)
      expect(iteration).toMatchObject({ decision: null, error: { code: 'iterations_exceeded', retryable: false } })
      expect(iteration.error?.message).toContain(`worker w has made ${number} of 3 model calls of this run`)
      expect(iteration.error?.message).toContain('2 more tool calls')
      expect(iteration.trace).toEqual(['parse_tool_calls', 'validate_calls', 'budget_exceeded_iterations'])
    }
  })
  test('a reply with too many calls gets an error as the result of each call beyond the limit', () => {
    checked.length = 0
    const calls = ['a', 'b', 'c', 'd', 'e', 'f']
    const iteration = stagesOf(calls.map(calling))
    expect(iteration).toMatchObject({ decision: 'continue', error: null })
    expect(iteration.checked.map(({ kind }) => kind).join(' ')).toBe(
      'accepted accepted accepted accepted invalid invalid',
    )
    expect(iteration.checked.at(-1)).toMatchObject({
      text: 'This call was not run: one reply may have at most 4 tool calls, and this is number 6.',
    })
    expect(checked).toEqual(['a', 'b', 'c', 'd'])
  })

  test('a reply with more calls than the run may still make is an error, and no call is approved', () => {
    expect(stagesOf([calling('good')], 1, 3, 9)).toMatchObject({ decision: 'continue', error: null })
    const iteration = stagesOf([calling('good'), calling('good')], 1, 3, 10)
    expect(iteration).toMatchObject({ decision: null, error: { code: 'tool_calls_exceeded', retryable: false } })
    expect(iteration.error?.message).toBe(
      'worker w has asked for 10 tool calls in this run and may ask for 9; the last reply asked for 2 of them. These 2 were not run. Raise limits.toolCalls of its kind.',
    )
  })
})
