import { expect, test } from 'vitest'
import { decodeEntry, entryJson } from '../../../../src/core/history/entry.ts'
import { planRetry } from '../../../../src/core/history/run/retry-plan.ts'

const failure = { code: 'poison', message: 'no', origin: 'runtime', at: 1, attempt: 1, retryable: false } as const
const message = { kind: 'input', id: 'inbox-0', from: null, at: 1, value: 'x' } as const
const fields = {
  step: { name: 'pay', value: 1 },
  attemptFailed: { failure, retryMs: 1 },
  received: { message },
  failed: { failure },
} as const

function verdictOf(types: readonly (keyof typeof fields)[]) {
  const entries = types.map((type) => decodeEntry(entryJson(type, 1, 1, 1, fields[type])))
  return planRetry({ run: 1, epoch: 1, at: 2, next: entries.length, entries })
}

test.each([
  ['nothing', []],
  ['failed attempts', ['attemptFailed', 'attemptFailed']],
] as const)(
  'a run of a handler that recorded %s before its message became a dead letter needs the letter',
  (_, before) => {
    expect(verdictOf([...before, 'failed'])).toEqual({ kind: 'dead_letter' })
  },
)

test('a run of a handler whose message became a dead letter after a step does not begin anew, because it would repeat the step', () => {
  expect(verdictOf(['attemptFailed', 'step', 'failed'])).toMatchObject({
    kind: 'impossible',
    why: expect.stringContaining('pay'),
  })
})

test.each([
  ['nothing', [], 0],
  ['failed attempts', ['attemptFailed'], 0],
  ['steps', ['step', 'attemptFailed', 'step'], 2],
] as const)(
  'a run of a handler that recorded %s before it received its message goes on at that message',
  (_, before, steps) => {
    const plan = expect.objectContaining({ steps, step: 'message inbox-0 (input)' }) as unknown
    expect(verdictOf([...before, 'received', 'failed'])).toEqual({ kind: 'plan', plan })
  },
)

test.each([
  ['goes on at its model call', 'model_refused', { kind: 'plan', plan: { step: 'model call 1' } }],
  ['does not go on if it found nothing to answer', 'input_invalid', { kind: 'impossible' }],
] as const)('a run of an agent that an order began %s', (_, code, verdict) => {
  const ordered = decodeEntry(entryJson('ordered', 1, 1, 1, { message: 'inbox-0', order: { do: 'run' } }))
  const failed = decodeEntry(entryJson('failed', 1, 1, 1, { failure: { ...failure, code } }))
  expect(planRetry({ run: 1, epoch: 1, at: 2, next: 2, entries: [ordered, failed] })).toMatchObject(verdict)
})

test('a run of an agent that received no message is retried with its dead letter, even if a message was pushed before', () => {
  const pushed = { id: 'm0', content: [{ type: 'text', text: 'x' }], pushed: true }
  const entries = [entryJson('user', 1, 1, 1, pushed), entryJson('failed', 1, 1, 1, { failure })].map(decodeEntry)
  expect(planRetry({ run: 1, epoch: 1, at: 2, next: 2, entries })).toEqual({ kind: 'dead_letter' })
})

test('calls that a message interrupted are not run again if the run fails before the next reply', () => {
  const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: {} } as const
  const modelFailure = { ...failure, code: 'model_unavailable', origin: 'model' } as const
  const interrupted = { type: 'error-text', value: 'interrupted' } as const
  const usage = { inputTokens: 1, outputTokens: 1 }
  const text = (value: string) => [{ type: 'text', text: value }] as const
  const said = (status: 'cancelled' | 'unknown', failed: typeof failure | typeof modelFailure) =>
    [
      ['user', { id: 'm0', content: text('go') }],
      ['assistant', { id: 'm1', model: 'a/b', content: [call], finishReason: 'tool-calls', usage }],
      ['toolResult', { id: 'm2', toolCallId: 'c1', toolName: 'pay', status, output: interrupted }],
      ['user', { id: 'm3', when: 'interrupt', content: text('do not pay') }],
      ['failed', { failure: failed }],
    ] as const
  for (const status of ['cancelled', 'unknown'] as const)
    for (const failed of [failure, modelFailure]) {
      const entries = said(status, failed).map(([type, parts]) => decodeEntry(entryJson(type, 1, 1, 1, parts)))
      const verdict = planRetry({ run: 1, epoch: 1, at: 2, next: entries.length, entries })
      expect(verdict).toMatchObject({ plan: { step: 'model call 2', runState: 'GeneratingResponse' } })
      expect(verdict).not.toHaveProperty('plan.entries', [expect.stringContaining('reopened')])
    }
})

test.each([
  ['the model fails after it', []],
  ['a budget is used up by calls of the model that failed after it', ['attemptFailed']],
] as const)('a call of unknown outcome that the model was told of asks for no decision when %s', (_, attempts) => {
  const modelFailure = { ...failure, code: 'model_unavailable', origin: 'model' } as const
  const budget = { ...failure, code: 'budget_exceeded' } as const
  const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: {} } as const
  const usage = { inputTokens: 1, outputTokens: 1 }
  const output = { type: 'error-text', value: 'nobody knows' } as const
  const entries = (
    [
      ['user', { id: 'm0', content: [{ type: 'text', text: 'go' }] }],
      ['assistant', { id: 'm1', model: 'a/b', content: [call], finishReason: 'tool-calls', usage }],
      ['toolResult', { id: 'm2', toolCallId: 'c1', toolName: 'pay', status: 'unknown', output }],
      ...attempts.map((type) => [type, { failure: modelFailure, retryMs: 1 }] as const),
      ['failed', { failure: attempts.length > 0 ? budget : modelFailure }],
    ] as const
  ).map(([type, parts]) => decodeEntry(entryJson(type, 1, 1, 1, parts)))
  const verdict = planRetry({ run: 1, epoch: 1, at: 2, next: entries.length, entries })
  expect(verdict).toMatchObject({ kind: 'plan', plan: { step: 'model call 2' } })
})

test.each([
  ['a child that it waited for is lost', false, 'impossible'],
  ['a detached child goes on without it', true, 'plan'],
])('a handler is retried only if nothing that it waited for is gone: %s', (_, detached, kind) => {
  const spawned = [{ call: 1, id: 'c', kind: 'k', name: 'n', ...(detached && { detached }) }]
  const entries = [
    decodeEntry(entryJson('received', 1, 1, 1, { message, spawned })),
    decodeEntry(entryJson('received', 1, 1, 1, { message: { ...message, id: 'inbox-1' } })),
    decodeEntry(entryJson('failed', 1, 1, 1, { failure })),
  ]
  expect(planRetry({ run: 1, epoch: 1, at: 2, next: entries.length, entries })).toMatchObject({ kind })
})
