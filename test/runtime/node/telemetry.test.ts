/** A node reports turns, model calls and tool calls to the telemetry port that it was started with. */
import { expect, test } from 'vitest'
import { startNode } from '../../../src/compose.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { ModelCall } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { safeTelemetry, type Telemetry } from '../../../src/core/ports/telemetry.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { joinedTelemetry } from '../../../src/telemetry/joined-telemetry.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

class Recording implements Telemetry {
  readonly spans: [name: string, attributes: object, end: object | null][] = []
  readonly counts: [name: string, by: number][] = []
  readonly attributes: [name: string, attributes: object][] = []

  startSpan(...[name, attributes]: Parameters<Telemetry['startSpan']>) {
    const span: Recording['spans'][number] = [name, attributes, null]
    this.spans.push(span)
    return {
      end(more: object) {
        span[2] = more
      },
    }
  }

  count(...[name, by, attributes]: Parameters<Telemetry['count']>) {
    this.counts.push([name, by])
    this.attributes.push([name, attributes])
  }
}

test('a run of an agent is reported as spans of its turn, model calls and tool calls, and as counts of tokens, iterations and runs [2.18]', async () => {
  const telemetry = new Recording()
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
  const first = { ...call('look', {}, 'c1'), usage: { inputTokens: 10, outputTokens: 2 } }
  const model = scriptedModel('test/m', [first, { ...say('done'), usage: { inputTokens: 20, outputTokens: 3 } }])
  const agent = defineWorker({ instructions: 'x', model, tools: [look] })
  await using troupe = await TestTroupe.connect()
  const { redisUrl, namespace } = troupe
  {
    await using _node = await startNode({ redisUrl, namespace, workers: { agent }, telemetry })
    expect(await troupe.run('agent', 'go')).toMatchObject({ status: 'completed' })
  }
  const worker = { sessionId: expect.any(String), workerId: expect.any(String) }
  const run = { ...worker, kind: 'agent', run: 1 }
  const replied = (finishReason: string, inputTokens: number, outputTokens: number) => ({
    outcome: 'replied',
    finishReason,
    inputTokens,
    outputTokens,
    repliedBy: 'test/m',
    firstMs: expect.any(Number),
  })
  expect(telemetry.spans).toEqual([
    [
      'turn',
      {
        ...run,
        pool: 'default',
        starts: 1,
        turn: expect.stringMatching(/^[0-9a-f]{16}$/),
        waitedMs: expect.any(Number),
      },
      { outcome: 'ended' },
    ],
    ['model_call', { ...run, model: 'test/m', iteration: 1 }, replied('tool-calls', 10, 2)],
    ['tool_call', { ...run, tool: 'look', toolCallId: 'c1', attempt: 1 }, { outcome: 'done' }],
    ['model_call', { ...run, model: 'test/m', iteration: 2 }, replied('stop', 20, 3)],
  ])
  // When a commit is recorded beside other work is nobody's promise.
  const unpriced = (count: Recording['counts'][number]) => count[0] === 'calls.unpriced'
  expect(telemetry.counts.filter(unpriced)).toHaveLength(2)
  expect(telemetry.counts.filter((count) => !unpriced(count))).toEqual([
    ['tokens.input', 10],
    ['tokens.output', 2],
    ['iterations', 1],
    ['tokens.input', 20],
    ['tokens.output', 3],
    ['iterations', 1],
    ['runs', 1],
    ['runs.ended', 1],
  ])
  expect(telemetry.attributes.filter(([name]) => name === 'iterations' || name === 'runs')).toEqual([
    ['iterations', { ...worker, iteration: 1, toolCalls: 1 }],
    ['iterations', { ...worker, iteration: 2, toolCalls: 0 }],
    ['runs', { ...run, outcome: 'completed', iterations: 2, toolCalls: 1, ms: expect.any(Number) }],
  ])
})

test('each end of a run of an agent is counted, with its iterations and calls: failures and cancels too', async () => {
  const telemetry = new Recording()
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
  const failing = defineWorker({
    instructions: 'x',
    model: scriptedModel('test/m', [call('look', {}, 'c1'), call('look', {}, 'c2')]),
    tools: [look],
    limits: { iterations: 2 },
  })
  const asked = Promise.withResolvers<void>()
  const waiting = defineWorker({
    instructions: 'x',
    model: {
      id: 'test/m',
      reply: (_: unknown, { signal }: ModelCall) => {
        asked.resolve()
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      },
    },
  })
  await using troupe = await TestTroupe.connect()
  const { redisUrl, namespace } = troupe
  await using _node = await startNode({ redisUrl, namespace, workers: { failing, waiting }, telemetry })
  expect(await troupe.run('failing', 'go')).toMatchObject({ status: 'failed' })
  const session = await troupe.create('waiting', 'go')
  await asked.promise
  await session.root.cancelRun()
  expect(await session.result()).toMatchObject({ status: 'cancelled' })
  const runs = () => telemetry.attributes.filter(([name]) => name === 'runs')
  await waitUntil('both ends were counted', () => runs().length === 2)
  expect(runs()).toMatchObject([
    ['runs', { outcome: 'failed', iterations: 2, toolCalls: 1 }],
    ['runs', { outcome: 'cancelled', iterations: 0, toolCalls: 0 }],
  ])
})

test('the span of a cancelled turn ends when the turn is over, and says how it ended', async () => {
  const telemetry = new Recording()
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const kind = defineWorker({
    receive: async () => {
      begun.resolve()
      await gate.promise
    },
  })
  await using troupe = await TestTroupe.connect()
  const { redisUrl, namespace } = troupe
  await using _node = await startNode({ redisUrl, namespace, workers: { kind }, telemetry })
  const session = await troupe.create('kind')
  await begun.promise
  await session.cancel()
  await waitUntil('the span has ended', () => telemetry.spans[0]?.[2] !== null)
  gate.resolve()
  expect(telemetry.spans).toMatchObject([['turn', { kind: 'kind' }, { outcome: 'ended' }]])
})

test('a telemetry port that rejects disturbs nothing (TELEMETRY-1)', async () => {
  const rejected: unknown[] = []
  const note = (reason: unknown) => rejected.push(reason)
  process.on('unhandledRejection', note)
  // A port of a user may be asynchronous although its type is not.
  const rejects: () => never = () => Promise.reject(new Error('no collector')) as never
  const port = safeTelemetry({ startSpan: () => ({ end: rejects }), count: rejects })
  port.startSpan('turn', {}).end({})
  port.count('tokens.input', 1, {})
  safeTelemetry({ startSpan: rejects, count: rejects }).startSpan('turn', {}).end({})
  // Node reports a rejection before the event loop has gone round twice.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  process.off('unhandledRejection', note)
  expect(rejected).toEqual([])
})

test('a telemetry port that throws disturbs nothing, and no other port (TELEMETRY-1, JOINED-1)', () => {
  const thrown = () => {
    throw new Error('no collector')
  }
  expect(() => safeTelemetry({ startSpan: thrown, count: thrown }).startSpan('turn', {}).end({})).not.toThrow()
  const halfBroken = safeTelemetry({ startSpan: () => ({ end: thrown }), count: thrown })
  expect(() => halfBroken.startSpan('turn', {}).end({})).not.toThrow()
  expect(() => halfBroken.count('tokens.input', 1, {})).not.toThrow()
  const sound = new Recording()
  const joined = joinedTelemetry([{ startSpan: thrown, count: thrown }, sound])
  joined.startSpan('turn', {}).end({ outcome: 'ended' })
  joined.count('tokens.input', 1, {})
  expect([sound.spans, sound.counts]).toEqual([[['turn', {}, { outcome: 'ended' }]], [['tokens.input', 1]]])
})
