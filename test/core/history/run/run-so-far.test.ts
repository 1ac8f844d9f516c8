/** What an agent knows of its run, once the run is retried, steered, or waits for somebody. */
import { expect, test } from 'vitest'
import { ContextContainer } from '../../../../src/core/history/context-container.ts'
import { decodeEntry, type Entry, entryJson } from '../../../../src/core/history/entry.ts'

const session = { sessionId: 's', workerId: 'w', name: 'n', kind: 'k', parentId: null, depth: 0 }
const usage = { inputTokens: 1, outputTokens: 1 }
const failure = (code: string) => ({ code, message: 'x', origin: 'runtime', at: 1, attempt: 1, retryable: false })
const entry = (type: Entry['type'], facts: Record<string, unknown>, run = 1, at = 5) =>
  decodeEntry(entryJson(type, run, 1, at, facts))
const text = (value: string) => [{ type: 'text', text: value }]
const user = (value: string, more = {}, run = 1) => entry('user', { id: 'u', content: text(value), ...more }, run)
const reply = (content: readonly object[], finishReason = 'stop') =>
  entry('assistant', { id: 'a', model: 'a/b', content, finishReason, usage })
const asksForTool = reply([{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }], 'tool-calls')
const result = (more: object) => {
  const output = { type: 'text', value: 'x' }
  return entry('toolResult', { id: 't', toolCallId: 'c1', toolName: 'look', status: 'ok', output, ...more })
}
const failed = (code: string, more = {}) => entry('failed', { failure: failure(code), ...more })
const retried = entry('retried', {}, 1, 90)
const compact = (message: string) => entry('ordered', { message, order: { do: 'compact' } })
const hooked = (did: string, more = {}) => entry('hooked', { hook: 'prompt', did, ...more })
const answered = (id: string) => {
  const message = { kind: 'answer', id, from: null, status: 'answered', value: 'yes', by: null, reason: null }
  return entry('received', { message })
}

function contextOf(...entries: Entry[]): ContextContainer {
  const context = new ContextContainer(session)
  for (const one of entries) context.apply(one)
  return context
}

test('a fact that a tool of the run has set counts in place of one of the parent with the same name', () => {
  const context = contextOf(user('go', { facts: { path: 'old' } }), asksForTool, result({ facts: { path: 'new' } }))
  expect({ ...context.facts }).toEqual({ path: 'new' })
})

test('the input of a refused run that is retried is the first input of its worker again', () => {
  const before = contextOf(user('go'), failed('input_refused'))
  expect(before.firstInput).toBeNull()
  before.apply(retried)
  expect([before.firstInput, before.input]).toEqual(['go', 'go'])
})

test('a run that is retried has all of its time again, and waits for nobody whom it asked before', () => {
  const context = contextOf(user('go'), hooked('suspend', { ask: 'a1' }), failed('deadline_exceeded'), retried)
  expect(context.run).toMatchObject({ startedAt: 90, openAsk: null, answer: null, retries: 1 })
})

test('the answer that a processor waited for goes to no later processor', () => {
  const context = contextOf(user('go'), hooked('suspend', { ask: 'a1' }), answered('a1'))
  expect(context.run.answer).toMatchObject({ id: 'a1' })
  context.apply(hooked('continue'))
  expect([context.run.answer, context.run.openAsk, context.run.processed]).toEqual([null, null, 1])
})

test.each([
  ['a message steers the run', user('rather this', { when: 'steer' })],
  ['the model has answered in full', reply(text('all of it'))],
])('a text that was cut at its length begins no answer once %s', (_, next) => {
  const context = contextOf(user('go'), reply(text('Once upon'), 'length'))
  expect(context.run.cut).toEqual(['Once upon'])
  context.apply(next)
  expect(context.run.cut).toEqual([])
})

test('what steered a run after a reply is left out as a whole, also if an input before the run was never answered', () => {
  const unanswered = [user('note'), entry('cancelled', {})]
  const said = entry('assistant', { id: 'a', model: 'a/b', content: text('said'), finishReason: 'stop', usage }, 2)
  const refused = entry('failed', { failure: failure('model_refused'), leftOut: true }, 2)
  const run = [user('go', {}, 2), said, user('BAD', { when: 'steer' }, 2), refused]
  const prompt = JSON.stringify(contextOf(...unanswered, ...run, user('next', {}, 3)).history.prompt())
  expect(prompt).toMatch(/note.*go.*said.*a message was left out here.*next/)
  expect(prompt).not.toContain('BAD')
})

test.each([
  ['an order to compact is owed until it is carried out or refused', entry('orderRefused', { message: 'o1' }), false],
  ['an order to compact is owed although another one is refused', entry('orderRefused', { message: 'o2' }), true],
  ['an order to compact is owed after an order to configure', entry('configured', { message: 'o2' }), true],
  ['an order to compact is owed after the end of a run', entry('completed', { value: 1 }), true],
  ['an order to compact is not owed any more when its worker is cancelled', entry('cancelled', {}), false],
])('%s', (_, next, isOwed) => {
  expect(contextOf(compact('o1'), next).owedOrder !== null).toBe(isOwed)
})

test('a prompt that became another one counts nothing twice', () => {
  const history = ['a', 'b', 'c'].flatMap((value, index) => [
    entry('user', { id: `m${2 * index}`, content: text(value.repeat(400)) }),
    entry('assistant', {
      id: `m${2 * index + 1}`,
      model: 'a/b',
      content: text('said'),
      finishReason: 'stop',
      usage: { inputTokens: 0, outputTokens: 0 },
    }),
  ])
  const context = contextOf(...history)
  context.apply(entry('compacted', { text: 'short', firstKept: 'm4', model: 'a/b', usage }))
  expect(context.size.tokens).toBeGreaterThan(100)
  expect(context.size.tokens).toBeLessThan(150)
})
