/** Duty: the facts of a worker definition that the lists of kinds and tools show. */

import { listedTools } from '../../core/definition/agent/tool-resolver.ts'
import { isAgentDefinition, type WorkerDefinition } from '../../core/definition/define-worker.ts'
import type { Tool } from '../../core/definition/tool/define-tool.ts'
import { formatDuration } from '../../words/duration.ts'

export interface DefinitionFacts {
  readonly sort: 'agent' | 'handler'
  /** The model that the definition names; null for a handler, and for an agent with the default model. */
  readonly model: string | null
  readonly tools: readonly string[]
  readonly spawns: readonly string[]
  /** How many of its runs are in progress at once, and begin within a time, in words. */
  readonly runs: readonly string[]
}

export function definitionFacts(definition: WorkerDefinition): DefinitionFacts {
  const spawns = definition.spawns ?? []
  const runs = runLimits(definition)
  if (!isAgentDefinition(definition)) return { sort: 'handler', model: null, tools: [], spawns, runs }
  return {
    sort: 'agent',
    model: modelName(definition.model),
    tools: toolsOf(definition).map(({ name }) => name),
    spawns,
    runs,
  }
}

function runLimits({ concurrency, rate }: WorkerDefinition): string[] {
  const of = (key: unknown) => (key === undefined ? '' : typeof key === 'string' ? ` for each ${key}` : ' for each key')
  return [
    ...(concurrency ? [`${concurrency.most} at once${of(concurrency.key)}`] : []),
    ...(rate ? [`${rate.most} in ${formatDuration(rate.perMs)}${of(rate.key)}`] : []),
  ]
}

/** The tools of a resolver are not known before it runs. */
export function toolsOf(definition: WorkerDefinition): readonly Tool[] {
  return isAgentDefinition(definition) ? listedTools(definition.tools) : []
}

/** A definition may hold a model object: ours has an `id`, a model of the AI SDK has `provider` and `modelId`. */
function modelName(model: unknown): string | null {
  if (model === undefined || model === null) return null
  if (typeof model === 'string') return model
  const { id, provider, modelId } = model as { id?: unknown; provider?: unknown; modelId?: unknown }
  if (typeof id === 'string') return id
  return typeof modelId === 'string' ? `${typeof provider === 'string' ? provider : '?'}/${modelId}` : 'its own'
}
