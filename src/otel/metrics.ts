/** Duty: the metrics of the semantic conventions for generative AI, version 0.1.0, of what a node reports: model calls, tool calls, runs of agents. */
import type { Meter } from '@opentelemetry/api'
import type { Attributes, SpanName } from '../core/ports/telemetry.ts'
import { metricAttributes } from './names.ts'

/** The bounds that the conventions give. */
const secondsBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const tokensBounds = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]
const callsBounds = [0, 1, 2, 5, 10, 20, 50, 100, 200]

export interface GenAiMetrics {
  spanEnded(span: SpanName, seconds: number, attributes: Attributes): void
  /** Counts a run of an agent, over all its turns. */
  runEnded(attributes: Attributes): void
}

export function genAiMetrics(meter: Meter): GenAiMetrics {
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(`gen_ai.${name}`, { unit, advice: { explicitBucketBoundaries } })
  const seconds = (name: string) => histogram(name, 's', secondsBounds)
  const counter = (name: string) => meter.createCounter(`gen_ai.client.inference.usage.${name}`, { unit: '{token}' })
  const calls = (name: string) => histogram(`invoke_agent.${name}`, '{call}', callsBounds)
  const durations = {
    model_call: seconds('client.inference.duration'),
    tool_call: seconds('execute_tool.duration'),
  }
  const firstChunk = seconds('client.inference.time_to_first_chunk')
  const used = {
    inputTokens: counter('input_tokens'),
    outputTokens: counter('output_tokens'),
    cacheReadTokens: counter('cache_read.input_tokens'),
    cacheWriteTokens: counter('cache_write.input_tokens'),
    reasoningTokens: counter('reasoning.output_tokens'),
  }
  const perCall = {
    inputTokens: histogram('client.inference.operation.input_tokens', '{token}', tokensBounds),
    outputTokens: histogram('client.inference.operation.output_tokens', '{token}', tokensBounds),
  }
  const ofRun = {
    iterations: calls('inference_calls'),
    toolCalls: calls('tool_calls'),
  }
  const runSeconds = seconds('invoke_agent.duration')
  return {
    spanEnded(span, took, attributes) {
      // A turn is a part of a run, which has its own metrics. A spawn takes no time.
      if (span === 'turn' || span === 'spawn') return
      const named = metricAttributes(span, attributes)
      durations[span === 'model_call' ? 'model_call' : 'tool_call'].record(took, named)
      if (span !== 'model_call') return
      ifNumber(attributes.firstMs, (ms) => firstChunk.record(ms / 1_000, named))
      for (const [name, instrument] of Object.entries(used)) ifNumber(attributes[name], (n) => instrument.add(n, named))
      for (const [name, instrument] of Object.entries(perCall))
        ifNumber(attributes[name], (n) => instrument.record(n, named))
    },
    runEnded(attributes) {
      const named = metricAttributes('turn', attributes)
      ifNumber(attributes.ms, (ms) => runSeconds.record(ms / 1_000, named))
      for (const [name, instrument] of Object.entries(ofRun))
        ifNumber(attributes[name], (n) => instrument.record(n, named))
    },
  }
}

function ifNumber(value: Attributes[string] | undefined, use: (value: number) => void): void {
  if (typeof value === 'number') use(value)
}
