/** The spans of a session are of one trace, on whatever nodes its workers run, as a collector gets them. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { openTelemetry } from '../../src/otel/telemetry.ts'
import { TurnIds } from '../../src/otel/turn-ids.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { type CollectedSpan, Collector } from './support/collector.ts'

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  run(_, { log }) {
    log.info('looked')
    return 'the secret answer'
  },
})
const child = (kind: string) => call('spawn_workers', { tasks: [{ kind, input: 'a secret question' }] }, 'c1')
const usage = { inputTokens: 20, outputTokens: 3 }
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
    model: scriptedModel('test/c', [call('look', {}, 'c1'), { ...say('done'), usage }]),
    tools: [look],
  }),
}

test('a session on three nodes is one trace in a collector, whose id is its own, with links over parks, each child below the turn that spawned it, and without content (OTEL-1, OTEL-2, OTEL-4, OTEL-6, OTEL-NAMES-1)', async () => {
  await using troupe = await TestTroupe.connect()
  await using collector = await Collector.start()
  const { redisUrl, namespace } = troupe
  const lines: { readonly message: string; readonly [field: string]: unknown }[] = []
  const note = (fields: object, message: string) => void lines.push({ ...fields, message })
  const logger = { debug: note, info: note, warn: note, error: note }
  const metricReader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
  })
  const meters = new MeterProvider({ readers: [metricReader] })
  const tracing = Object.entries(pools).map(([kind, worker]) => {
    const ids = new TurnIds()
    const exporter = new OTLPTraceExporter({ url: collector.url(kind) })
    const tracers = new TracerProvider({ idGenerator: ids, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const telemetry = openTelemetry({ tracer: tracers.getTracer('test'), meter: meters.getMeter('test'), ids })
    return { tracers, options: { redisUrl, namespace, workers: { [kind]: worker }, telemetry, logger } }
  })
  const nodes = await Promise.all(tracing.map(({ options }) => startNode(options)))
  const session = await troupe.create('first', 'a secret question')
  expect(await session.result()).toMatchObject({ status: 'completed' })
  const { spans } = collector
  const turnsOf = (kind: string) => spans.filter(({ name }) => name === `invoke_agent ${kind}`)
  await waitUntil('the last turn is reported', () => ['first', 'second'].every((kind) => turnsOf(kind).length === 2))
  await waitUntil('those of the third are too', () => turnsOf('third').length === 1)
  expect(new Set(spans.map(({ from }) => from))).toEqual(new Set(['first', 'second', 'third']))
  const traceId = session.id.replaceAll('-', '')
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
  for (const kind of ['first', 'second']) {
    const [before, after] = turnsOf(kind)
    expect(before?.links ?? []).toEqual([])
    expect(after?.links).toMatchObject([{ traceId, spanId: before?.spanId }])
  }
  const above = ({ parentSpanId }: CollectedSpan) => spans.find(({ spanId }) => spanId === parentSpanId)
  const [root, , ...others] = turnsOf('first')
  expect({ root: above(root as CollectedSpan), others }).toEqual({ root: undefined, others: [] })
  for (const [spawner, child] of [
    ['first', 'second'],
    ['second', 'third'],
  ] as const) {
    const [spawning] = turnsOf(spawner)
    const [spawn] = new Set(turnsOf(child).map(above))
    expect(spawn).toMatchObject({ name: `spawn ${child}`, from: spawner, parentSpanId: spawning?.spanId })
    const { 'troupe.child.id': childId } = spawn?.attributes ?? {}
    for (const turn of turnsOf(child))
      expect(turn).toMatchObject({ parentSpanId: spawn?.spanId, attributes: { 'troupe.worker.id': childId } })
  }
  const tool = spans.find(({ name }) => name === 'execute_tool look')
  const turn = tool && above(tool)
  expect(turn?.name).toBe('invoke_agent third')
  expect(turn?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': session.id,
    'gen_ai.agent.name': 'third',
    'troupe.outcome': 'ended',
  })
  expect(spans.find(({ name }) => name === 'chat b')?.attributes).toMatchObject({
    'gen_ai.provider.name': 'test',
    'gen_ai.request.model': 'b',
    'gen_ai.usage.output_tokens': expect.any(Number),
    'gen_ai.response.finish_reasons': ['tool-calls'],
  })
  expect(JSON.stringify(spans)).not.toContain('secret')
  const looked = lines.find(({ message }) => message === 'looked')
  expect(looked).toMatchObject({ trace_id: traceId, span_id: turn?.spanId, trace_flags: '01' })
  const { resourceMetrics } = await metricReader.collect()
  const counted = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
  const sumOf = (name: string) =>
    counted
      .find(({ descriptor }) => descriptor.name === name)
      ?.dataPoints.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : value.count), 0)
  expect({
    calls: sumOf('gen_ai.client.inference.duration'),
    begun: sumOf('gen_ai.client.inference.time_to_first_chunk'),
    tools: sumOf('gen_ai.execute_tool.duration'),
    runs: sumOf('gen_ai.invoke_agent.duration'),
    runsCounted: sumOf('gen_ai.invoke_agent.inference_calls'),
  }).toEqual({ calls: 6, begun: 6, tools: 1, runs: 3, runsCounted: 3 })
  expect(sumOf('gen_ai.client.inference.usage.output_tokens')).toBe(3)
  expect(JSON.stringify(counted)).not.toContain(session.id)
  await Promise.all(nodes.map((node) => node.stop()))
  await Promise.all([meters.shutdown(), ...tracing.map(({ tracers }) => tracers.shutdown())])
})

test('a process without an SDK records no traces, and nothing fails (OTEL-3)', () => {
  const telemetry = openTelemetry()
  const attributes = { sessionId: '01a2008b-d1c6-760a-a7bb-d73604cac000', workerId: 'w', kind: 'echo' }
  const span = telemetry.startSpan('turn', attributes)
  expect(telemetry.logFields?.('w')).toEqual({})
  expect(() => span.end({ outcome: 'ended' })).not.toThrow()
})
