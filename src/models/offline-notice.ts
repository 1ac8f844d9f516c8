/**
 * Duty: say which agents run on the offline model because nothing names a model for them. A person who set a key expects a real one.
 */
import { isAgentDefinition, type WorkerDefinition } from '../core/definition/define-worker.ts'
import type { ModelSettings } from '../core/definition/model.ts'
import { offlineId } from './local/offline-model.ts'
import { providerKeysIn } from './providers.ts'

export interface OfflineNotice {
  readonly level: 'info' | 'warn'
  readonly message: string
  readonly kinds: readonly string[]
}

/** Null if each agent has a model. A warning if a provider's key is set. */
export function offlineNotice(
  definitions: Iterable<readonly [kind: string, definition: WorkerDefinition]>,
  settings: ModelSettings,
): OfflineNotice | null {
  if (settings.default !== undefined) return null
  const kinds = [...definitions].flatMap(([kind, definition]) =>
    isAgentDefinition(definition) && definition.model === undefined ? [kind] : [],
  )
  if (kinds.length === 0) return null
  const [key] = providerKeysIn(settings.env)
  const advice = 'name one: model in the worker file, --model, TROUPE_MODEL, or models.default of startNode'
  const what = `these agents name no model and run on ${offlineId}, fixed rules without a language model`
  if (key === undefined) return { level: 'info', message: `${what}; for a real model ${advice}`, kinds }
  return { level: 'warn', message: `${key} is set, but a key chooses no model: ${what}; ${advice}`, kinds }
}
