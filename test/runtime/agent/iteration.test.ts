/** One iteration: what a reply means, and which of its calls may run. */
import { describe, expect, test } from 'vitest'
import type { AssistantBlock, ToolCallBlock } from '../../../src/core/history/chat-message.ts'
import { type AcceptedCall, runStages } from '../../../src/runtime/agent/iteration.ts'

const text = (words: string): AssistantBlock => ({ type: 'text', text: words })
const calling = (toolName: string): ToolCallBlock => ({ type: 'tool-call', toolCallId: toolName, toolName, input: {} })
const checked: string[] = []
const rules = {
  who: 'worker w',
  check(call: ToolCallBlock) {
    checked.push(call.toolName)
    return call.toolName === 'bad'
      ? { kind: 'invalid' as const, call, text: 'no' }
      : { kind: 'accepted' as const, call, input: 1, verdict: { do: 'run' as const } }
  },
  approve: (one: AcceptedCall): AcceptedCall =>
    one.call.toolName === 'asks' ? { ...one, verdict: { do: 'ask', why: 'it asks', eachTime: false } } : one,
}
const stagesOf = (content: AssistantBlock[], number = 1, most = 3) => runStages({ content }, number, most, rules)

describe('a reply', () => {
  test.each([
    ['without anything', []],
    ['of white space', [text(' \n')]],
  ])('%s is blank at any iteration', (_, content) => {
    const blank = { decision: 'blank', error: null, calls: [], checked: [], trace: ['parse_blank_stop'] }
    expect(stagesOf(content)).toMatchObject(blank)
    expect(stagesOf(content, 3, 3)).toMatchObject(blank)
  })

  test('with text and without calls is the answer, also at the last iteration [0.9, 2.5, 2.10]', () => {
    const done = { decision: 'done', error: null, calls: [], trace: ['parse_no_tools'] }
    expect(stagesOf([text('yes')])).toMatchObject(done)
    expect(stagesOf([text('yes')], 3, 3)).toMatchObject(done)
  })

  test('with calls continues with each call checked, in order (ITERATION-2) [2.2, 2.3, 2.10]', () => {
    checked.length = 0
    const iteration = stagesOf([text('I look'), calling('good'), calling('bad'), calling('other')], 2)
    expect(iteration).toMatchObject({ number: 2, most: 3, decision: 'continue', error: null })
    expect(iteration.calls.map(({ toolName }) => toolName)).toEqual(['good', 'bad', 'other'])
    expect(iteration.checked.map(({ kind }) => kind)).toEqual(['accepted', 'invalid', 'accepted'])
    expect(iteration.trace).toEqual(['parse_tool_calls', 'validate_calls', 'budget_ok', 'approve_all'])
    expect(checked).toEqual(['good', 'bad', 'other'])
  })

  test('with calls at the last iteration is an error, and no call is approved (ITERATION-1) [2.4, 2.7]', () => {
    for (const number of [3, 4]) {
      const iteration = stagesOf([calling('good'), calling('good')], number, 3)
      expect(iteration).toMatchObject({ decision: null, error: { code: 'iterations_exceeded', retryable: false } })
      expect(iteration.error?.message).toContain(`worker w has made ${number} of 3 model calls of this run`)
      expect(iteration.error?.message).toContain('2 more tool calls')
      expect(iteration.trace).toEqual(['parse_tool_calls', 'validate_calls', 'budget_exceeded_iterations'])
    }
  })
})
