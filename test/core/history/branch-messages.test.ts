/** The messages with which a branch begins, compared with the prompts of the conversation that it comes from. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { branchMessages } from '../../../src/core/history/branch-messages.ts'
import { ContextContainer } from '../../../src/core/history/context-container.ts'
import { decodeEntry, type Entry, entryJson } from '../../../src/core/history/entry.ts'
import { encodeGivenHistory } from '../../../src/core/history/given-history.ts'
import { runProblem } from '../../../src/core/history/run/run-problem.ts'
import { saidIn } from '../../../src/core/history/said-in.ts'

const text = (value: string) => [{ type: 'text', text: value }]
const failure = (code: string) => ({ code, message: 'x', origin: 'runtime', at: 1, attempt: 1, retryable: false })

/** What happens in a run between its input and its end. */
const step = fc.constantFrom('call', 'two calls', 'nudge', 'steer')
const end = fc.constantFrom(
  'answer',
  'tooLong',
  'input_invalid',
  'input_refused',
  'tool_failed',
  'retry',
  'refusedRetry',
  'cancel',
)
const run = fc.record({
  pushed: fc.boolean(),
  changed: fc.boolean(),
  steps: fc.array(step, { maxLength: 4 }),
  end,
  ordered: fc.constantFrom(false, false, false, true),
})

class History {
  readonly entries: Entry[] = []
  #calls = 0

  add(type: Entry['type'], run: number, facts: Record<string, unknown>): void {
    const id = `m${this.entries.length}`
    this.entries.push(decodeEntry(entryJson(type, run, 1, 5, { id, ...facts })))
  }

  reply(run: number, calls: readonly string[], value = 'words'): void {
    const content = [
      ...text(value),
      ...calls.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'look', input: {} })),
    ]
    const usage = { inputTokens: 1, outputTokens: 1 }
    this.add('assistant', run, { model: 'a/b', finishReason: 'stop', usage, content })
  }

  result(run: number, toolCallId: string, value: string, status = 'ok'): void {
    this.add('toolResult', run, { toolCallId, toolName: 'look', status, output: { type: 'text', value } })
  }

  call(run: number, count: number): void {
    const ids = Array.from({ length: count }, () => `c${++this.#calls}`)
    this.reply(run, ids)
    for (const id of ids) this.result(run, id, `seen by ${id}`)
  }

  run(
    number: number,
    { pushed, changed, steps, end, ordered }: typeof run extends fc.Arbitrary<infer Run> ? Run : never,
  ): void {
    if (pushed) this.add('user', number, { pushed: true, content: text(`pushed ${number}`) })
    const isOrdered = ordered && runProblem({ messages: saidIn(this.entries) }) === null
    if (isOrdered) this.add('ordered', number, { message: 'inbox-0', order: { do: 'run' } })
    else
      this.add('user', number, { content: text(`input ${number}`), from: 'w', context: 'on a Monday', facts: { a: 1 } })
    if (changed && !isOrdered)
      this.add('hooked', number, { hook: 'prompt', did: 'transform', content: text(`changed ${number}`) })
    for (const one of steps) {
      if (one === 'call') this.call(number, 1)
      else if (one === 'two calls') this.call(number, 2)
      else if (one === 'nudge') {
        this.call(number, 1)
        this.add('user', number, { nudge: true, content: text('go on') })
      } else if (!isOrdered) this.add('user', number, { when: 'steer', content: text(`steered ${number}`) })
    }
    if (end === 'answer') this.reply(number, [], `answer ${number}`)
    else if (end === 'cancel') this.add('cancelled', number, {})
    else if (end === 'tooLong') this.add('failed', number, { failure: failure('context_overflow'), leftOut: true })
    else if (end === 'refusedRetry') {
      this.add('failed', number, { failure: failure('model_refused'), leftOut: true })
      this.add('retried', number, {})
      this.add('user', number, { when: 'steer', content: text(`steered again ${number}`) })
      this.reply(number, [], `answer ${number}`)
    } else if (end !== 'retry') this.add('failed', number, { failure: failure(end) })
    else {
      const [again, kept] = [`again-${number}`, `kept-${number}`]
      this.reply(number, [again, kept])
      this.result(number, kept, 'kept')
      this.result(number, again, 'cancelled by the end', 'cancelled')
      this.add('failed', number, { failure: failure('tool_failed') })
      this.add('retried', number, { reopened: [again] })
      this.result(number, again, 'the second time')
      this.reply(number, [], `answer ${number}`)
    }
    if (end === 'answer' || end === 'retry' || end === 'refusedRetry') this.add('completed', number, { value: 1 })
  }
}

/** The prompt of a run that begins behind these entries. */
function nextPrompt(entries: readonly Entry[], run: number) {
  const session = { sessionId: 's', workerId: 'w', name: 'n', kind: 'k', parentId: null, depth: 0 }
  const container = new ContextContainer(session)
  for (const entry of entries) container.apply(entry)
  container.apply(decodeEntry(entryJson('user', run, 1, 9, { id: 'next', content: text('the next input') })))
  expect(container.passedOver).toBe(0)
  expect(run === 1 ? container.facts : {}).toEqual({})
  return container.history.prompt()
}

test('the prompt of a branch is that of the conversation it comes from (BRANCH-MESSAGES-1)', () => {
  fc.assert(
    fc.property(fc.array(run, { minLength: 1, maxLength: 4 }), (runs) => {
      const history = new History()
      for (const [index, one] of runs.entries()) history.run(index + 1, one)
      const given = encodeGivenHistory(branchMessages(history.entries)).map(decodeEntry)
      expect(nextPrompt(given, 1)).toEqual(nextPrompt(history.entries, runs.length + 1))
    }),
    { numRuns: 200 },
  )
})
