/** The spans of a session are of one trace, on whatever nodes its workers run. */
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { openTelemetry } from '../../src/otel/telemetry.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/wait-until.ts'

const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'the secret answer' })
const child = (kind: string) => call('spawn_workers', { tasks: [{ kind, input: 'a secret question' }] }, 'c1')
const pools = {
  first: defineWorker({
    instructions: 'x',
    pool: 'one',
    model: scriptedModel('test/a', [child('second'), say('done')]),
    spawns: ['second'],
  }),
  second: defineWorker({
    instructions: 'x',
    pool: 'two',
    model: scriptedModel('test/b', [child('third'), say('done')]),
    spawns: ['third'],
  }),
  third: defineWorker({
    instructions: 'x',
    pool: 'three',
    model: scriptedModel('test/c', [call('look', {}, 'c1'), say('done')]),
    tools: [look],
  }),
}

test('a session that runs on three nodes is one trace, whose id is its own (OTEL-1, OTEL-2), without content (OTEL-NAMES-1)', async () => {
  await using troupe = await TestTroupe.connect()
  const { redisUrl, namespace } = troupe
  const exporters = [new InMemorySpanExporter(), new InMemorySpanExporter(), new InMemorySpanExporter()]
  const nodes = await Promise.all(
    Object.entries(pools).map(([kind, worker], index) => {
      const processor = new SimpleSpanProcessor({ exporter: exporters[index] as InMemorySpanExporter })
      const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('test')
      return startNode({ redisUrl, namespace, workers: { [kind]: worker }, telemetry: openTelemetry({ tracer }) })
    }),
  )
  const session = await troupe.create('first', 'a secret question')
  expect(await session.result()).toMatchObject({ status: 'completed' })
  const spans = () => exporters.flatMap((exporter) => exporter.getFinishedSpans())
  await waitUntil(
    'the last turn is reported',
    () => spans().filter(({ name }) => name.startsWith('invoke_agent')).length >= 5,
  )
  expect(exporters.every((exporter) => exporter.getFinishedSpans().length > 0)).toBe(true)
  expect(new Set(spans().map((span) => span.spanContext().traceId))).toEqual(new Set([session.id.replaceAll('-', '')]))
  const tool = spans().find(({ name }) => name === 'execute_tool look')
  const turn = spans().find((span) => span.spanContext().spanId === tool?.parentSpanContext?.spanId)
  expect(turn?.name).toBe('invoke_agent third')
  expect(turn?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': session.id,
    'gen_ai.agent.name': 'third',
    'troupe.outcome': 'ended',
  })
  expect(spans().find(({ name }) => name === 'chat b')?.attributes).toMatchObject({
    'gen_ai.request.model': 'b',
    'gen_ai.provider.name': 'test',
    'gen_ai.usage.output_tokens': expect.any(Number),
    'gen_ai.response.finish_reasons': ['tool-calls'],
  })
  expect(JSON.stringify(spans().map(({ attributes, events }) => [attributes, events]))).not.toContain('secret')
  await Promise.all(nodes.map((node) => node.stop()))
})

test('without an SDK in the process nothing is recorded, and nothing fails (OTEL-3)', () => {
  const telemetry = openTelemetry()
  const attributes = { sessionId: '01a2008b-d1c6-760a-a7bb-d73604cac000', workerId: 'w', kind: 'echo' }
  expect(() => telemetry.startSpan('turn', attributes).end({ outcome: 'ended' })).not.toThrow()
})
