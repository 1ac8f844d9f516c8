/**
 * Duty: what somebody has set for one agent in place of what its kind says: its model, its settings, and which of its tools it may use.
 * Owns: the form of the field `configured` of a record. Does not own: whether a node can do it (runtime/agent/order/configure.ts).
 * CONFIGURATION-1 What a configuration does not name is as the kind says. It never gives a worker a tool that its kind does not have.
 */
import { isObject } from '../../check/is-object.ts'
import type { CallSettings } from '../../definition/tool/call-settings.ts'

export interface Configuration {
  /** The model, as `provider/model`. */
  readonly model?: string
  /** Settings that take precedence over those of the kind, one by one. */
  readonly settings?: CallSettings
  /** Names of those tools of its kind that it may use. */
  readonly tools?: readonly string[]
}

/** Null: as the kind says. A field that is left out stays as it is. */
export type ConfigurationChange = {
  readonly [Name in keyof Configuration]?: Configuration[Name] | null | undefined
}

export const configurationNames = ['model', 'settings', 'tools'] as const satisfies readonly (keyof Configuration)[]

export function configurationAfter(before: Configuration | null, change: ConfigurationChange): Configuration {
  const after: Record<string, unknown> = { ...before }
  for (const name of configurationNames) {
    const value = change[name]
    if (value === null) delete after[name]
    else if (value !== undefined) after[name] = value
  }
  return after
}

/** Empty for a worker that is as its kind says. */
export function encodeConfiguration(configuration: Configuration): string {
  return Object.keys(configuration).length === 0 ? '' : JSON.stringify(configuration)
}

/** Null for a worker that is as its kind says, and for a text that another program wrote. */
export function decodeConfiguration(text: string): Configuration | null {
  if (text === '') return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
