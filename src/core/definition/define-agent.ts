/**
 * Duty: what an author writes for a worker that thinks: instructions, a model, tools, and the kinds it may spawn. Pure.
 */
import type { z } from 'zod'
import { shown } from '../check/shown.ts'
import { ConfigError } from '../errors.ts'
import type { Json } from '../history/chat-message.ts'
import { isTool, type Tool } from './define-tool.ts'

/** What instructions may depend on: who the worker is. */
export interface AgentSelf {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly sessionId: string
  readonly parentId: string | null
  /** The root has depth 0. */
  readonly depth: number
  /** Absolute path of its folder; null for none. */
  readonly folder: string | null
}

export interface AgentLimits {
  /** Model calls of one run, but blank replies. Default 10. */
  readonly iterations?: number
  /** Tokens of one run, in and out: no further model call is made beyond. Default: none. */
  readonly tokens?: number
}

export interface AgentWorker {
  /** Shown to parents that may spawn it. */
  readonly description?: string
  /** Only a handler has it. */
  readonly receive?: undefined
  /** The system prompt. */
  readonly instructions: string | ((self: AgentSelf) => string)
  /** `provider/model`, a language model of the AI SDK, or a Model of your own. Default: what the node was started with. */
  readonly model?: unknown
  readonly tools?: readonly Tool[]
  /** Kinds its model may spawn: gives it `spawn_workers` and `send_message`. */
  readonly spawns?: readonly string[]
  readonly limits?: AgentLimits
  /** What a `once` tool of unknown outcome does: `fail` the run (default), or `tell` the model that it is unknown. */
  readonly onUnknown?: 'fail' | 'tell'
  /** Schema of input messages; an input that does not fit fails the run with `input_invalid`. Default: any JSON. */
  readonly input?: z.ZodType
  /**
   * The folder its tools may touch, from the input of the first run that is not refused; within the parent's folder, if that has one.
   * Null: none, which is refused where the parent has one. Default: the parent's.
   */
  readonly folder?: (input: Json) => string | null
  /** Said to a model whose reply was blank, before it is asked again. Default: nothing. */
  readonly nudge?: string
  /** Kinds hosted by the same nodes share a pool. Default: "default". */
  readonly pool?: string
  /** Retries of a model call or a tool that failed for the time being. Default 3. */
  readonly retries?: number
}

export const agentKeys = new Set([
  'description',
  'instructions',
  'model',
  'tools',
  'spawns',
  'limits',
  'onUnknown',
  'input',
  'folder',
  'nudge',
  'pool',
  'retries',
])

/** Throws a ConfigError that names the wrong field. What agents and handlers have in common is checked by defineWorker. */
export function checkAgent(agent: AgentWorker): void {
  const { instructions, tools, limits, onUnknown, folder, nudge } = agent
  if (typeof instructions !== 'function' && (typeof instructions !== 'string' || instructions.trim() === '')) {
    throw new ConfigError('an agent needs instructions: a text, or a function (self) => text.')
  }
  if (tools !== undefined && !Array.isArray(tools)) throw new ConfigError('tools is a list: tools: [readFile].')
  const names = new Set<string>()
  for (const tool of tools ?? []) {
    if (!isTool(tool))
      throw new ConfigError(`tools holds ${describe(tool)}, which is no tool: make it with defineTool.`)
    if (names.has(tool.name)) throw new ConfigError(`two tools have the name "${tool.name}".`)
    names.add(tool.name)
  }
  for (const [name, value] of Object.entries(limits ?? {})) {
    if (name !== 'iterations' && name !== 'tokens') {
      throw new ConfigError(`limits of an agent are iterations and tokens, not ${JSON.stringify(name)}.`)
    }
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw new ConfigError(`limits.${name} must be a whole number from 1, not ${shown(value)}.`)
    }
  }
  if (onUnknown !== undefined && onUnknown !== 'fail' && onUnknown !== 'tell') {
    throw new ConfigError(`onUnknown is "fail" or "tell", not ${shown(onUnknown)}.`)
  }
  if (folder !== undefined && typeof folder !== 'function') {
    throw new ConfigError('folder is a function of the first input: folder: (input) => input.folder.')
  }
  if (nudge !== undefined && typeof nudge !== 'string') throw new ConfigError('nudge is a text.')
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  return 'name' in value ? `an object named ${JSON.stringify(value.name)}` : 'an object'
}
