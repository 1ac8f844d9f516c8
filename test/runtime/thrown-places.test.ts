/** What code of users throws is logged once, with its stack, and its place is kept with the failure and never told to a model. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker, type WorkerDefinition } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../src/core/errors.ts'
import { call, say } from '../../src/models/local/scripted-model.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const here = /thrown-places\.test\.ts:\d+:\d+$/
const place = expect.stringMatching(here) as string

interface Line {
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** Runs one worker of this kind, and returns its result, its history, and the lines of the log that have a stack. */
async function runWith(worker: WorkerDefinition) {
  const lines: Line[] = []
  const write = (fields: object, message: string) => {
    if ('stack' in fields) lines.push({ fields, message })
  }
  await using troupe = await TestTroupe.connect()
  await troupe.startNode(
    { worker },
    { logger: { debug: write, info: write, warn: write, error: write }, policy: { retryBackoffMs: 1 } },
  )
  const session = await troupe.create('worker')
  return { result: await session.result(), history: await troupe.history(session.rootId), lines, id: session.rootId }
}

function readMissing(): never {
  return (undefined as unknown as { x: { y: never } }).x.y
}

const model = () => recordedModel('test/m', [call('undef'), say('done')])

test.each<[string, () => WorkerDefinition]>([
  ['a TypeError of receive', () => defineWorker({ retries: 0, receive: readMissing })],
  ['a rejection of receive', () => defineWorker({ retries: 0, receive: async () => readMissing() })],
  ['a TerminalError of receive', () => defineWorker({ receive: () => fail(new TerminalError('no')) })],
  [
    'a call of self that receive got wrong',
    () => defineWorker({ retries: 0, receive: (_message, self) => self.after(Number.NaN, 1) }),
  ],
  ['the schema of an input', () => defineWorker({ input: z.any().refine(readMissing), receive() {} })],
  ['the instructions of an agent', () => defineWorker({ instructions: readMissing, model: model() })],
  [
    'the input of an agent',
    () => defineWorker({ instructions: 'x', model: model(), input: z.any().refine(readMissing) }),
  ],
])('%s: the failure and one log line name the place', async (_what, make) => {
  const { result, lines, id } = await runWith(make())
  expect(result).toMatchObject({ status: 'failed', failure: { thrownAt: place } })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.fields).toMatchObject({
    worker: id,
    kind: 'worker',
    stack: expect.stringContaining('thrown-places.test.ts'),
  })
})

test.each<[string, () => unknown, string]>([
  ['throws', readMissing, 'undefined'],
  ['rejects', async () => readMissing(), 'undefined'],
  ['throws an error with a cause', () => fail(new Error('outer', { cause: new Error('inner') })), 'outer: inner'],
])(
  'a tool that %s: result, event and one log line name the place, and the model reads only the message',
  async (_what, run, message) => {
    const asked = model()
    const undef = defineTool({ name: 'undef', description: 'Fails.', effect: 'pure', run })
    const { history, lines, id } = await runWith(defineWorker({ instructions: 'x', model: asked, tools: [undef] }))
    expect(history.find(({ type }) => type === 'toolResult')).toMatchObject({ status: 'error', thrownAt: place })
    expect(lines).toHaveLength(1)
    const toolCallId = expect.any(String) as string
    expect(lines[0]).toMatchObject({
      message: 'a tool failed',
      fields: { worker: id, kind: 'worker', tool: 'undef', toolCallId, error: expect.stringContaining(message) },
    })
    expect(JSON.stringify(asked.requests)).toContain(message)
    expect(JSON.stringify(asked.requests)).not.toContain('thrown-places')
  },
)

test('a tool that asks for another attempt and then ends the run has its place in each failure', async () => {
  let calls = 0
  const undef = defineTool({
    name: 'undef',
    description: 'Fails.',
    effect: 'pure',
    run: () => fail(++calls === 1 ? new TransientError('busy') : new TerminalError('no')),
  })
  const { result, history, lines } = await runWith(defineWorker({ instructions: 'x', model: model(), tools: [undef] }))
  expect(result).toMatchObject({ status: 'failed', failure: { message: 'no', origin: 'tool', thrownAt: place } })
  expect(history.find(({ type }) => type === 'attemptFailed')).toMatchObject({ failure: { thrownAt: place } })
  expect(lines.map(({ fields }) => fields.attempt)).toEqual([1, 2])
})

test('a tool that returns its error, or a model adapter that throws, names no place', async () => {
  const undef = defineTool({ name: 'undef', description: 'Returns.', effect: 'pure', run: () => 1n })
  const { history, lines } = await runWith(defineWorker({ instructions: 'x', model: model(), tools: [undef] }))
  expect(history.find(({ type }) => type === 'toolResult')).not.toHaveProperty('thrownAt')
  expect(lines).toEqual([])
})

function fail(error: Error): never {
  throw error
}
