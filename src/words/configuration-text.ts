/** Duty: what somebody has set for a worker, in words. */
import type { Configuration } from '../core/worker/message/configuration.ts'

export function configurationText({ model, settings, tools }: Configuration): string {
  const parts = [
    model === undefined ? [] : `model ${model}`,
    settings === undefined ? [] : `settings ${JSON.stringify(settings)}`,
    tools === undefined ? [] : `tools ${Array.isArray(tools) ? tools.join(', ') || 'none' : JSON.stringify(tools)}`,
  ].flat()
  return parts.length === 0 ? 'as its kind says' : parts.join('; ')
}
