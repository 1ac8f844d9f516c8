/**
 * Duty: define what an author writes for a tool that models use. Pure: a definition does nothing until a model calls the tool.
 * TOOL-1 The effect class decides what may happen after a crash. `pure` and `idempotent` tools may run again, the latter under the same
 *        key. A `once` tool is recorded as started before it runs, and never runs again without an answer of its `reconcile`.
 */
import type { FileHandle } from 'node:fs/promises'
import type { z } from 'zod'
import { schemaProblem } from '../../check/check-schema.ts'
import { didYouMean } from '../../check/closest.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError, InvariantError } from '../../errors.ts'
import type { ChildFacts, Json } from '../../history/chat/chat-message.ts'
import { policy, type SessionLimits } from '../../policy.ts'
import { type RetrySettings, retryProblem } from '../retry-settings.ts'
import type { WorkerLog } from '../worker-log.ts'
import type { Recipe } from './recipe.ts'

export type Effect = 'pure' | 'idempotent' | 'once'

/** One name in a folder. `other`: a pipe, a device or a socket. */
export interface FolderEntry {
  readonly name: string
  readonly sort: 'file' | 'folder' | 'link' | 'other'
}

/** The folder that a worker's tools may touch. Paths are resolved to their real place, and refused if that lies outside. */
export interface Workspace {
  /** Real path of the folder. */
  readonly root: string
  /** Opens a regular file inside for reading. Nothing outside is opened, even if somebody puts a link into the path at that moment. Close it. */
  open(path: string): Promise<FileHandle>
  /** Reads a regular file inside. Throws an InputError if it has more than `bytesMax` bytes; default 16 MiB. */
  read(path: string, options?: { readonly bytesMax?: number }): Promise<Buffer>
  /** Names and sorts of what a folder inside holds, in the order of the names. Default: the folder itself. */
  list(path?: string): Promise<FolderEntry[]>
  /**
   * Returns the real path of an existing file or folder inside. Throws an InputError if it lies outside or does not exist. Whoever opens that path
   * later may open something else, if others may put links into the folder: `open`, `read` and `list` do not.
   */
  resolve(path: string): Promise<string>
  /** Returns the real path of a file that may be created: its folder exists inside, and it is not a link. */
  resolveNew(path: string): Promise<string>
}

/** What a tool gets beside its input. A tool in a worker thread gets all of it too. */
export interface ToolContext {
  readonly workerId: string
  readonly sessionId: string
  readonly toolCallId: string
  /** The root has depth 0; a spawn at `limits.depth` is refused. */
  readonly depth: number
  readonly limits: SessionLimits
  /** The input that began this run. An input that is JSON text is parsed. */
  readonly input: Json
  /** Which attempt it is, from 1. */
  readonly attempt: number
  /** The same for each attempt of this call. Pass it to services that must not do the same work twice. */
  readonly idempotencyKey: string
  /** Aborts when the run is cancelled, the time is over, the lease is lost or the node stops. */
  readonly signal: AbortSignal
  /** Null if the worker has no folder. */
  readonly workspace: Workspace | null
  readonly log: WorkerLog
  /** Publishes a value to those who follow the session. It is not recorded. */
  readonly progress: (value: unknown) => void
  /** Facts that tools of this run set, and facts that the parent passed to this worker. */
  readonly facts: Readonly<Record<string, Json>>
  /** Sets a fact. It is recorded with the result of this call, for other tools and for the sender of the input. The model never sees it. */
  readonly setFact: (name: string, value: Json) => void
  /** Children of this run that have reported, in call order. */
  readonly children: readonly ChildFacts[]
}

/** What a function that decides about a call gets beside the arguments of the call. */
export type ApprovalContext = Pick<
  ToolContext,
  'workerId' | 'sessionId' | 'toolCallId' | 'depth' | 'limits' | 'input' | 'log' | 'facts'
>

/** Whether the call was carried out. */
export type Reconciled = { readonly done: true; readonly output: unknown } | { readonly done: false }

/** A tool that never runs: a call of it ends the run, and its arguments are the result. */
export type TerminalTool<Input = unknown> = Pick<ToolDefinition<Input>, 'name' | 'description' | 'input'> &
  Partial<Pick<ToolDefinition<Input>, 'effect' | 'run'>> & { readonly terminal: true }

export interface ToolDefinition<Input = unknown> {
  /** Letters, digits, "_" and "-", at most 64. */
  readonly name: string
  readonly description: string
  /** Default: any JSON. A schema that is not an object is shown to the model as `{ arguments: … }`; `run` gets the bare value. */
  readonly input?: z.ZodType<Input>
  readonly effect: Effect
  /**
   * Whether a person is asked before a call runs: `always`, `never`, or a quick function of the arguments that returns true if a person is asked. If
   * it throws, a person is asked. Rules of the kind and the policy of the session come first. Default: `always` for a tool of effect `once`, else
   * `never`.
   */
  readonly approval?: 'never' | 'always' | ((input: Input, context: ApprovalContext) => boolean)
  /**
   * A person is asked about each call, whatever the session's policy, the allow rules and trust say. Default: true for a tool that is not `pure`,
   * whose name contains "delete", "write", "execute" or "modify", and that does not say `approval: 'never'`.
   */
  readonly dangerous?: boolean
  /**
   * With `true` a call ends the run: its arguments, as `input` returns them, are the `output` of the result, and `run` is never called. It needs no
   * `effect` and no `run`. Other calls of the same reply are not run. Default: false.
   */
  readonly terminal?: boolean
  /** A call that takes longer is aborted. Default 120 000. */
  readonly timeoutMs?: number
  /** How often, and after which waits, a call that threw a TransientError is tried again. Default: as the kind says. */
  readonly retry?: RetrySettings
  /** How many bytes of a longer output the model sees; the whole is kept for `read_result`. Default: 10 000 of more than 200 000. */
  readonly outputBytesMax?: number
  /** For tools that compute: `import.meta.url` of the module that exports this tool. The tool then runs in a worker thread. */
  readonly thread?: string
  /**
   * Says whether a `once` call of unknown outcome was carried out. If it throws, the outcome stays unknown. If the arguments no longer fit
   * `input`, because the schema was changed, `reconcile` gets them as the model wrote them, and only `done: true` is believed. With `done: true` the
   * facts that it sets are recorded, as those of `run` would have been.
   */
  reconcile?(
    input: Input,
    context: Pick<ToolContext, 'idempotencyKey' | 'signal' | 'log' | 'setFact'>,
  ): Promise<Reconciled>
  /** Calls of other tools of the kind, in place of `run`. If it returns no steps, `run` is called. Without `run`, `effect` may be left out. */
  readonly recipe?: Recipe<Input>
  run(input: Input, context: ToolContext): unknown
}

/**
 * A tool that only is a recipe. `effect` is the class that rules and policies take the call itself for; each step has the effect of its own tool.
 * Default: `pure`.
 */
export type RecipeDefinition<Input = unknown> = Omit<
  ToolDefinition<Input>,
  'run' | 'effect' | 'reconcile' | 'thread' | 'recipe'
> & { readonly recipe: Recipe<Input>; readonly effect?: Effect }

const toolMark = Symbol.for('troupe.tool')
export type Tool = ToolDefinition<never> & { readonly [toolMark]: true }

const knownKeys = new Set([
  'name',
  'description',
  'input',
  'effect',
  'approval',
  'dangerous',
  'terminal',
  'timeoutMs',
  'retry',
  'outputBytesMax',
  'thread',
  'reconcile',
  'recipe',
  'run',
])
const namePattern = /^[A-Za-z0-9_-]{1,64}$/
/** Names of tools that troupe gives to agents. */
export const reservedNames = [
  'spawn_workers',
  'send_message',
  'list_tasks',
  'ask_person',
  'read_result',
  'read_skill',
] as const

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
export function defineTool<Input = unknown>(tool: ToolDefinition<Input>): Tool
export function defineTool<Input = unknown>(tool: RecipeDefinition<Input>): Tool
export function defineTool<Input = unknown>(tool: TerminalTool<Input>): Tool
// The compiler tries the first overload first, and reports errors in terms of the last one.
export function defineTool<Input = unknown>(tool: ToolDefinition<Input>): Tool
export function defineTool<Input = unknown>(
  given: ToolDefinition<Input> | RecipeDefinition<Input> | TerminalTool<Input>,
): Tool {
  if (typeof given !== 'object' || given === null)
    throw new ConfigError('defineTool takes an object with name, description, effect and run.')
  if (isRecipe<Input>(given)) return checkedTool({ effect: 'pure', ...given, run: runsSteps })
  return checkedTool(given.terminal === true ? { effect: 'pure', run: neverRun, ...given } : given)
}

function neverRun(): never {
  throw new InvariantError('a terminal tool was run')
}

function checkedTool<Input>(tool: ToolDefinition<Input>): Tool {
  const name = (tool as { name?: unknown }).name
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw new ConfigError(`${preview(name)} is not a valid name of a tool: use 1 to 64 letters, digits, "_" or "-".`)
  }
  const wrong = (what: string) => new ConfigError(`tool "${name}": ${what}`)
  if (reservedNames.some((reserved) => reserved === name))
    throw wrong('this name is reserved for a tool of troupe: choose another name.')
  for (const key of Object.keys(tool)) {
    if (!knownKeys.has(key))
      throw wrong(
        `defineTool does not know the field "${key}"; it takes ${[...knownKeys].join(', ')}.${didYouMean(key, [...knownKeys])}`,
      )
  }
  if (typeof tool.description !== 'string' || tool.description === '') {
    throw wrong('it needs a description, because models choose tools by their description.')
  }
  if (typeof tool.run !== 'function') throw wrong('it needs a run function: run(input, context) { … }.')
  if (!['pure', 'idempotent', 'once'].includes(tool.effect)) {
    throw wrong(
      'effect says what may happen after a crash: "pure" (may run again), "idempotent" (may run again under the same key) or "once" (must not run again).',
    )
  }
  if (tool.reconcile !== undefined && typeof tool.reconcile !== 'function') throw wrong('reconcile must be a function.')
  if (tool.reconcile !== undefined && tool.effect !== 'once')
    throw wrong('only a tool of effect "once" has a reconcile function.')
  if (tool.recipe !== undefined && typeof tool.recipe !== 'function')
    throw wrong('recipe must be a function of the arguments: recipe: (input) => ({ serial: [ … ], parallel: [ … ] }).')
  checkApproval(tool)
  if (tool.thread !== undefined && !(typeof tool.thread === 'string' && tool.thread.startsWith('file:'))) {
    throw wrong('thread must be the URL of the module that exports the tool: thread: import.meta.url.')
  }
  if (tool.terminal !== undefined && typeof tool.terminal !== 'boolean')
    throw wrong(`terminal must be true or false, not ${preview(tool.terminal)}.`)
  if (tool.terminal === true && tool.recipe !== undefined)
    throw wrong('a terminal tool never runs, so it has no recipe: leave out one of the two.')
  const problem = schemaProblem('input', tool.input) ?? retryProblem(tool.retry)
  if (problem !== null) throw wrong(problem)
  checkNumber('timeoutMs', tool.timeoutMs, policy.timeoutMsMax)
  checkNumber('outputBytesMax', tool.outputBytesMax, 1_000_000)
  return Object.freeze({ ...tool, [toolMark]: true }) as unknown as Tool

  function checkApproval({ approval, dangerous }: ToolDefinition<Input>): void {
    if (approval !== undefined && approval !== 'never' && approval !== 'always' && typeof approval !== 'function')
      throw wrong(
        `approval must be "never", "always" or a function (input, context) => boolean, not ${preview(approval)}.`,
      )
    if (dangerous !== undefined && typeof dangerous !== 'boolean')
      throw wrong(`dangerous must be true or false, not ${preview(dangerous)}.`)
    if (dangerous === true && approval === 'never')
      throw wrong('a dangerous tool is asked about each time: leave out dangerous: true, or approval: "never".')
  }

  function checkNumber(field: string, value: unknown, most: number): void {
    if (value === undefined || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most)) return
    throw wrong(`${field} must be a whole number from 1 to ${most}, not ${preview(value)}.`)
  }
}

/** A tool of troupe, under a reserved name. */
export function ownTool<Input>(tool: ToolDefinition<Input>): Tool {
  return Object.freeze({ ...tool, [toolMark]: true }) as unknown as Tool
}

function isRecipe<Input>(tool: object): tool is RecipeDefinition<Input> {
  return 'recipe' in tool && typeof tool.recipe === 'function' && !('run' in tool)
}

/** Stands in place of the `run` of a tool that only is a recipe. Nobody calls it. */
function runsSteps(): never {
  throw new ConfigError('a recipe has no run of its own.')
}

/** True if the tool has a `run` of its own. One that only is a recipe has none. */
export function hasRun(tool: Tool): boolean {
  return tool.run !== (runsSteps as unknown)
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && toolMark in value
}
