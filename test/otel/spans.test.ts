/** What becomes of each report of a node in OpenTelemetry: names, attributes and status of a span, and the metrics of its end. */
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { AlwaysOffSampler, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test, vi } from 'vitest'
import type { Attributes, SpanName, Telemetry } from '../../src/core/ports/telemetry.ts'
import { openTelemetry } from '../../src/otel/telemetry.ts'
import { TurnIds } from '../../src/otel/turn-ids.ts'

const sessionId = '01a2008b-d1c6-760a-a7bb-d73604cac000'
const ofWorker = { sessionId, workerId: '01a2008b-d1c6-860a-a7bb-d73604cac000', kind: 'agent' }

const ofChild = { ...ofWorker, workerId: '01a2008b-d1c6-860a-8111-111111111111' }

/** The spans of these reports, and the sums and counts of the metrics by name and attributes. */
async function reported(report: (telemetry: Telemetry) => void) {
  const exporter = new InMemorySpanExporter()
  const tracers = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
  })
  const meters = new MeterProvider({ readers: [reader] })
  report(openTelemetry({ tracer: tracers.getTracer('test'), meter: meters.getMeter('test') }))
  const { resourceMetrics } = await reader.collect()
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) =>
    scope.metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
      dataPoints.map(({ value, attributes }) => ({
        name,
        unit,
        sum: typeof value === 'number' ? value : value.sum,
        bounds: typeof value !== 'number' && 'buckets' in value ? value.buckets.boundaries : undefined,
        attributes,
      })),
    ),
  )
  await meters.shutdown()
  return { spans: exporter.getFinishedSpans(), metrics }
}

/** One span that took a second and a half. */
function spanned(name: SpanName, begun: Attributes, more: Attributes) {
  return reported((telemetry) => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    const span = telemetry.startSpan(name, { ...ofWorker, ...begun })
    clock.mockReturnValue(2_500)
    span.end(more)
    clock.mockRestore()
  })
}

const ofAgent = { 'gen_ai.agent.name': 'agent' }
const ofModel = {
  ...ofAgent,
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'm',
}

test('a model call that failed is a span of a client with the code of its failure, and a duration with the same', async () => {
  const begun = { model: 'openai-chat/m', iteration: 1 }
  const { spans, metrics } = await spanned('model_call', begun, { outcome: 'failed', code: 'model_overloaded' })
  expect(spans).toMatchObject([
    {
      name: 'chat m',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.ERROR, message: 'failed' },
      attributes: { ...ofModel, 'error.type': 'model_overloaded', 'troupe.iteration': 1, 'troupe.outcome': 'failed' },
    },
  ])
  const name = 'gen_ai.client.inference.duration'
  const attributes = { ...ofModel, 'error.type': 'model_overloaded' }
  const bounds = expect.arrayContaining([0.01, 81.92])
  expect(metrics).toEqual([{ name, unit: 's', sum: 1.5, bounds, attributes }])
})

test('a model call that was answered says its tokens, when its reply began and who replied, and counts each sort of tokens', async () => {
  const tokens = { inputTokens: 20, outputTokens: 5, cacheReadTokens: 7, cacheWriteTokens: 6, reasoningTokens: 4 }
  const more = { outcome: 'replied', finishReason: 'stop', repliedBy: 'openai/m-2', firstMs: 250, ...tokens }
  const { spans, metrics } = await spanned('model_call', { model: 'openai/m' }, more)
  expect(spans[0]?.status).toEqual({ code: SpanStatusCode.UNSET })
  expect(spans[0]?.attributes).toEqual({
    ...ofModel,
    'gen_ai.conversation.id': sessionId,
    'troupe.worker.id': ofWorker.workerId,
    'troupe.outcome': 'replied',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.model': 'm-2',
    'gen_ai.response.time_to_first_chunk': 0.25,
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 7,
    'gen_ai.usage.cache_write.input_tokens': 6,
    'gen_ai.usage.reasoning.output_tokens': 4,
  })
  const inference = 'gen_ai.client.inference'
  expect(Object.fromEntries(metrics.map(({ name, sum }) => [name, sum]))).toEqual({
    [`${inference}.duration`]: 1.5,
    [`${inference}.time_to_first_chunk`]: 0.25,
    [`${inference}.usage.input_tokens`]: 20,
    [`${inference}.usage.output_tokens`]: 5,
    [`${inference}.usage.cache_read.input_tokens`]: 7,
    [`${inference}.usage.cache_write.input_tokens`]: 6,
    [`${inference}.usage.reasoning.output_tokens`]: 4,
    [`${inference}.operation.input_tokens`]: 20,
    [`${inference}.operation.output_tokens`]: 5,
  })
  for (const { attributes } of metrics) expect(attributes).toEqual(ofModel)
})

test.each(['tool_call', 'sub_call'] as const)(
  'a %s that did not end is a failed span of its tool, and a duration of it',
  async (name) => {
    const { spans, metrics } = await spanned(name, { tool: 'look', toolCallId: 'c1' }, { outcome: 'unfinished' })
    const error = { 'error.type': 'unfinished' }
    expect(spans).toMatchObject([
      {
        name: 'execute_tool look',
        kind: SpanKind.INTERNAL,
        status: { code: SpanStatusCode.ERROR, message: 'unfinished' },
        attributes: { 'gen_ai.tool.name': 'look', 'gen_ai.tool.call.id': 'c1', ...error },
      },
    ])
    const attributes = { ...ofAgent, 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look', ...error }
    expect(metrics).toMatchObject([{ name: 'gen_ai.execute_tool.duration', sum: 1.5, attributes }])
  },
)

test('turns and spawns are spans without a metric: a turn is a part of a run, and a spawn takes no time', async () => {
  const { spans, metrics } = await reported((telemetry) => {
    telemetry.startSpan('turn', { ...ofWorker, turn: 'a'.repeat(16) }).end({ outcome: 'ended' })
    telemetry.startSpan('spawn', { ...ofWorker, childKind: 'echo' }).end({})
  })
  expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
    ['invoke_agent agent', SpanKind.INTERNAL],
    ['spawn echo', SpanKind.PRODUCER],
  ])
  expect(metrics).toEqual([])
})

test('a run of an agent counts with its time, its model calls and its tool calls, and no other count does', async () => {
  const { metrics } = await reported((telemetry) => {
    telemetry.count('runs', 1, {
      ...ofWorker,
      outcome: 'failed',
      code: 'poison',
      ms: 2_500,
      iterations: 3,
      toolCalls: 4,
    })
    telemetry.count('iterations', 1, { ...ofWorker, iteration: 3, toolCalls: 4 })
    telemetry.count('runs.ended', 1, { ...ofWorker, ms: 1_000 })
  })
  const attributes = { ...ofAgent, 'gen_ai.operation.name': 'invoke_agent', 'error.type': 'poison' }
  expect(metrics).toMatchObject([
    { name: 'gen_ai.invoke_agent.inference_calls', unit: '{call}', sum: 3, attributes },
    { name: 'gen_ai.invoke_agent.tool_calls', unit: '{call}', sum: 4, attributes },
    { name: 'gen_ai.invoke_agent.duration', unit: 's', sum: 2.5, attributes },
  ])
})

test('without ids a turn stands below its session, and links to no other; where the session has no id of ours, it has no parent', async () => {
  const { spans } = await reported((telemetry) => {
    for (const id of [sessionId, 'another'])
      telemetry.startSpan('turn', { ...ofChild, sessionId: id, lastTurn: 'b'.repeat(16) }).end({ outcome: 'ended' })
  })
  const traceId = sessionId.replaceAll('-', '')
  expect(spans[0]?.spanContext().traceId).toBe(traceId)
  expect(spans.map(({ parentSpanContext, links }) => [parentSpanContext?.spanId, links])).toEqual([
    [traceId.slice(16), []],
    [undefined, []],
  ])
})

test('log lines name the span of a turn while it is open, if somebody records it (OTEL-5)', () => {
  const fieldsOf = (tracers: TracerProvider) => {
    const telemetry = openTelemetry({ tracer: tracers.getTracer('test') })
    const span = telemetry.startSpan('turn', ofWorker)
    const during = telemetry.logFields?.(ofWorker.workerId)
    span.end({ outcome: 'ended' })
    return [during, telemetry.logFields?.(ofWorker.workerId)]
  }
  const traceId = sessionId.replaceAll('-', '')
  expect(fieldsOf(new TracerProvider())).toEqual([
    { trace_id: traceId, span_id: expect.stringMatching(/^[0-9a-f]{16}$/), trace_flags: '01' },
    {},
  ])
  expect(fieldsOf(new TracerProvider({ sampler: new AlwaysOffSampler() }))).toEqual([{}, {}])
})

test('a call of a worker stands below its turn, and no more once that has ended', async () => {
  const { spans } = await reported((telemetry) => {
    const turn = telemetry.startSpan('turn', ofWorker)
    telemetry.startSpan('tool_call', { ...ofWorker, tool: 'during' }).end({})
    turn.end({ outcome: 'ended' })
    telemetry.startSpan('tool_call', { ...ofWorker, tool: 'after' }).end({})
  })
  const [during, turn, after] = spans
  const id = turn?.spanContext().spanId
  expect([during?.parentSpanContext?.spanId === id, after?.parentSpanContext?.spanId === id]).toEqual([true, false])
})

test('an id that was given is that of one span alone', () => {
  const ids = new TurnIds()
  expect(ids.startWith('a'.repeat(16), () => ids.generateSpanId())).toBe('a'.repeat(16))
  const random = [ids.generateSpanId(), ids.generateSpanId()]
  for (const id of random) expect(id).toMatch(/^[0-9a-f]{16}$/)
  expect(new Set([...random, 'a'.repeat(16)]).size).toBe(3)
})
