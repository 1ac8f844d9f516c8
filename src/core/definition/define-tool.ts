/**
 * Duty: what an author writes for a model to use: a tool. Pure: a definition does nothing until a worker's model calls it.
 * D1 The effect class decides what a crash may do: `pure` and `idempotent` tools may run again (the latter under the same key);
 *    a `once` tool is recorded as started before it runs and is never silently run again.
 */
import type { z } from 'zod'
import { schemaProblem } from '../check/check-schema.ts'
import { didYouMean } from '../check/closest.ts'
import { shown } from '../check/shown.ts'
import { ConfigError } from '../errors.ts'
import type { ChildFacts, Json } from '../history/chat-message.ts'
import { policy, type SessionLimits } from '../policy.ts'
import type { WorkerLog } from './worker-log.ts'

export type Effect = 'pure' | 'idempotent' | 'once'

/** The folder a worker's tools may touch. Paths are resolved to their real place and refused outside of it. */
export interface Workspace {
  /** Real path of the folder. */
  readonly root: string
  /** Real path of an existing file or folder inside; throws an InputError for what lies outside or does not exist. */
  resolve(path: string): Promise<string>
  /** Real path of what may be created: its folder exists inside, and it is no link. */
  resolveNew(path: string): Promise<string>
}

/** What a tool is run with. In a worker thread all of it is there, too. */
export interface ToolContext {
  readonly workerId: string
  readonly sessionId: string
  readonly toolCallId: string
  /** The root has depth 0; a spawn at `limits.depth` is refused. */
  readonly depth: number
  readonly limits: SessionLimits
  /** What this run was asked: the value of the input that began it; a text that is JSON comes as what it says. */
  readonly input: Json
  /** Which try it is, from 1. */
  readonly attempt: number
  /** The same for each try of this call: pass it to what must not happen twice. */
  readonly idempotencyKey: string
  /** Aborted when the run is cancelled, the time is over, the lease is lost or the node stops. */
  readonly signal: AbortSignal
  /** Null for a worker without a folder. */
  readonly workspace: Workspace | null
  readonly log: WorkerLog
  /** Shown to who follows the session; not recorded. */
  readonly progress: (value: unknown) => void
  /** Values established by tools of this run, and those given to this worker by its parent. */
  readonly facts: Readonly<Record<string, Json>>
  /** Recorded with this call's result: for other tools, and for who asked for this run; never shown to the model. */
  readonly setFact: (name: string, value: Json) => void
  /** Children of this run that have reported, in call order. */
  readonly children: readonly ChildFacts[]
}

/** Was the call carried out, as far as the outside world can tell? */
export type Reconciled = { readonly done: true; readonly output: unknown } | { readonly done: false }

export interface ToolDefinition<Input = unknown> {
  /** Letters, digits, "_" and "-", at most 64. */
  readonly name: string
  readonly description: string
  /** Default: any JSON. A schema that is no object reaches the model as `{ arguments: … }` and `run` as itself. */
  readonly input?: z.ZodType<Input>
  readonly effect: Effect
  /** A run that takes longer is aborted. Default 120 000. */
  readonly timeoutMs?: number
  /** More output is cut, with a note. Default 100 000. */
  readonly outputBytesMax?: number
  /** For tools that compute: `import.meta.url` of the module that exports this tool. It then runs in a worker thread. */
  readonly thread?: string
  /**
   * Asked about a `once` call of unknown outcome; throwing means that it is still unknown. When the arguments no longer fit `input`,
   * since it was changed meanwhile, they come as the model gave them, and only `done: true` is believed.
   */
  reconcile?(input: Input, context: Pick<ToolContext, 'idempotencyKey' | 'signal' | 'log'>): Promise<Reconciled>
  run(input: Input, context: ToolContext): unknown
}

const toolMark = Symbol.for('troupe.tool')
export type Tool = ToolDefinition<never> & { readonly [toolMark]: true }

const knownKeys = new Set([
  'name',
  'description',
  'input',
  'effect',
  'timeoutMs',
  'outputBytesMax',
  'thread',
  'reconcile',
  'run',
])
const namePattern = /^[A-Za-z0-9_-]{1,64}$/
const reservedNames = new Set(['spawn_workers', 'send_message'])

/**
 * Defines a tool.
 *
 *     export const readNote = defineTool({
 *       name: 'read_note', description: 'Reads a note.', effect: 'pure',
 *       input: z.object({ title: z.string() }),
 *       run: async ({ title }, { signal }) => readFile(`notes/${title}`, { encoding: 'utf8', signal }),
 *     })
 *
 * Throws a ConfigError that names the tool and the wrong field.
 */
export function defineTool<Input = unknown>(tool: ToolDefinition<Input>): Tool {
  if (typeof tool !== 'object' || tool === null)
    throw new ConfigError('defineTool takes an object with name, effect and run.')
  const name = (tool as { name?: unknown }).name
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw new ConfigError(`${shown(name)} is not a tool's name: 1 to 64 letters, digits, "_" or "-".`)
  }
  const wrong = (what: string) => new ConfigError(`tool "${name}": ${what}`)
  if (reservedNames.has(name)) throw wrong('this name is reserved for a tool of troupe; choose another.')
  for (const key of Object.keys(tool)) {
    if (!knownKeys.has(key))
      throw wrong(
        `defineTool does not know the field "${key}"; it takes ${[...knownKeys].join(', ')}.${didYouMean(key, [...knownKeys])}`,
      )
  }
  if (typeof tool.description !== 'string' || tool.description === '') {
    throw wrong('it needs a description: a model chooses by it.')
  }
  if (typeof tool.run !== 'function') throw wrong('it needs a run function: run(input, context) { … }.')
  if (!['pure', 'idempotent', 'once'].includes(tool.effect)) {
    throw wrong(
      'effect says what a crash may do: "pure" (may run again), "idempotent" (again under the same key) or "once".',
    )
  }
  if (tool.reconcile !== undefined && typeof tool.reconcile !== 'function') throw wrong('reconcile must be a function.')
  if (tool.reconcile !== undefined && tool.effect !== 'once')
    throw wrong('only a tool of effect "once" has a reconcile function.')
  if (tool.thread !== undefined && !(typeof tool.thread === 'string' && tool.thread.startsWith('file:'))) {
    throw wrong('thread is the URL of the module that exports the tool: thread: import.meta.url.')
  }
  const problem = schemaProblem('input', tool.input)
  if (problem !== null) throw wrong(problem)
  checkNumber('timeoutMs', tool.timeoutMs, policy.timeoutMsMax)
  checkNumber('outputBytesMax', tool.outputBytesMax, 1_000_000)
  return Object.freeze({ ...tool, [toolMark]: true }) as unknown as Tool

  function checkNumber(field: string, value: unknown, most: number): void {
    if (value === undefined || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most)) return
    throw wrong(`${field} must be a whole number from 1 to ${most}, not ${shown(value)}.`)
  }
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && toolMark in value
}
