/**
 * Duty: define what an author writes for an agent, a worker that is driven by a model: instructions, a model, tools, and the kinds it may
 * spawn. Pure: a definition does nothing by itself.
 */
import type { z } from 'zod'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { Json } from '../../history/chat/chat-message.ts'
import { policy } from '../../policy.ts'
import { type ChildLimits, checkDeclared, childLimitNames } from '../child-limits.ts'
import type { AgentCancelSelf } from '../on-cancel.ts'
import type { RetrySettings } from '../retry-settings.ts'
import type { ConcurrencySettings, RateSettings } from '../run-limits.ts'
import { type CallSettings, checkSettings } from '../tool/call-settings.ts'
import { isTool, reservedNames, type Tool } from '../tool/define-tool.ts'
import type { WorkerIdentity } from '../worker-identity.ts'
import { type AgentHooks, checkHooks } from './agent-hooks.ts'
import { type ApprovalRules, checkApprovalRules } from './approval-rules.ts'
import { type CompactionSettings, checkCompaction } from './compaction-settings.ts'
import { type ContextSettings, checkContext } from './context-settings.ts'
import type { OnIteration } from './iteration-context.ts'
import { checkLongResults, type LongResults } from './long-results.ts'
import { checkSkills, type Skill } from './skills.ts'
import { checkResolver, isResolver, type ToolResolver } from './tool-resolver.ts'

/** What a function for instructions gets: the identity of the worker, and its folder. */
export interface AgentSelf extends WorkerIdentity {
  /** Absolute path of the worker's folder. Null if it has none. */
  readonly folder: string | null
}

export interface AgentLimits extends ChildLimits {
  /** Most model calls of one run. Blank replies do not count. Default 10. */
  readonly iterations?: number
  /** Most tool calls of one reply that are run; the others get an error as their result. Default 128. */
  readonly callsPerReply?: number
  /** How many tool calls of one reply run at once. Default 16. */
  readonly toolsAtOnce?: number
  /** After this many blank replies in a row the run ends. Default 3. */
  readonly blankStops?: number
  /** After this many iterations in a row with the same tool errors the run fails with `circuit_open`. Default 3. */
  readonly sameErrors?: number
  /** After this many failed calls in a row of the same tool the run fails with `circuit_open`. Default: no limit. */
  readonly toolFailures?: number
  /** Most tool calls for which the replies of one run may ask. Default 1 000. */
  readonly toolCalls?: number
  /** Most input and output tokens of one run. When they are used up, no further model call is made. Default: no limit. */
  readonly tokens?: number
  /** Longest time in ms of one run. When it is over, no further model call is made. Waits count too. Default: no limit. */
  readonly runMs?: number
  /** Longest time in ms in which nothing of a reply arrives; then the model call is retried. Default 300 000. */
  readonly modelIdleMs?: number
  /** Longest time in ms of one model call, even if its reply still arrives. Default 1 800 000. */
  readonly modelCallMs?: number
}

/** Each time the whole conversation is sent again. */
const timesMost = 100

const limitNames = [
  'iterations',
  'callsPerReply',
  'toolsAtOnce',
  'blankStops',
  'sameErrors',
  'toolFailures',
  'toolCalls',
  'tokens',
  'runMs',
  'modelIdleMs',
  'modelCallMs',
  ...childLimitNames,
] as const

const roles = ['planner', 'actor'] as const
/** Which of the tools of its definition an agent has. */
export type Role = (typeof roles)[number]

/** `Output`: what its `output` returns. */
export interface AgentWorker<Given = unknown, Output = unknown> {
  /**
   * The name under which nodes host this definition: the name of its file, or its key in `workers`. With it, `sessions.create` and `self.spawn` take
   * the definition in place of the name.
   */
  readonly kind?: string
  /** Parents that may spawn this kind see it. */
  readonly description?: string
  /** Only a handler has `receive`. */
  readonly receive?: undefined
  /**
   * The system prompt. A function is called before each model call. It also gets the input of the run as the history holds it. That is any JSON, whatever
   * the schema `input` says: a processor may have changed it, `mergeInput` joins several, and a run that goes on with what is there has none (null).
   */
  readonly instructions: string | ((self: AgentSelf, input: Json) => string)
  /** `provider/model`, a language model of the AI SDK, or your own Model. Default: the default model of the node. */
  readonly model?: unknown
  /** The settings with which its model is asked. Default: the provider's settings. */
  readonly settings?: CallSettings
  /** Its tools; or a resolver, if its tools are known only when it runs. Default: none. */
  readonly tools?: readonly Tool[] | ToolResolver
  /**
   * Which of its tools it has. A `planner` only reads: its model is offered tools of effect `pure` that are not dangerous, and it spawns nothing.
   * An `actor` has them all. Default: actor.
   */
  readonly role?: Role
  /** Kinds that its model may spawn. With this field the model gets the tools `spawn_workers` and `send_message`. */
  readonly spawns?: readonly string[]
  /**
   * With `true`, detached children are tasks in the background: its model is told in its next prompt that one has ended, lists them with the tool
   * `list_tasks`, and cannot start one under the name of one that still runs. Needs `spawns`. Default: false.
   */
  readonly background?: boolean
  /** With `true` the model gets the tool `ask_person`: it asks a person, and the answer is the result of the call. Default: false. */
  readonly asks?: boolean
  /** Which calls run without a question, which a person is asked about, and which never run. Default: as the tools say. */
  readonly approval?: ApprovalRules
  readonly limits?: AgentLimits
  /**
   * How many children of a run run at once, within `limits.children` of the session. Further ones wait to start, in the order of their spawns: when a
   * child has ended, the next one starts. A worker waits for 1 000 at most. Detached children do not count. Default: all run at once.
   */
  readonly childrenAtOnce?: number
  /** What happens when nobody knows whether a `once` tool took effect: `fail` the run (default), or `tell` the model so. */
  readonly onUnknown?: 'fail' | 'tell'
  /** Schema of input messages; an input that does not fit fails the run with `input_invalid`. Default: any JSON. */
  readonly input?: z.ZodType<unknown, Given>
  /**
   * Schema of its result. Its model is told to end with JSON that fits; a reply that does not fit is answered with what is wrong. The result is
   * `{ text, output }`, with `output` as the schema returns it. Default: its result is a text.
   */
  readonly output?: z.ZodType<Output>
  /** How often in one run its model is told that its answer does not fit `output`, before the run fails with `output_invalid`. Default 3. */
  readonly outputRetries?: number
  /**
   * Returns the folder that its tools may touch, from the input of the first run that is not refused, which is any JSON as for `instructions`. It must lie
   * within the folder of the parent, if the parent has one. Null: no folder; refused if the parent has one. Default: the folder of the parent.
   */
  readonly folder?: (input: Json) => string | null
  /**
   * A text to the model after a blank reply, before it is asked again; an empty text for none. Default: after tool results the model is
   * told to go on, otherwise none.
   */
  readonly nudge?: string
  /**
   * How often in a row its model goes on with a text that was cut off at its length limit; the pieces are one answer. 0: a text that was cut
   * off is the answer. Default 3, and 0 where `settings.maxOutputTokens` is set.
   */
  readonly continues?: number
  /**
   * True: a run begins with all inputs that wait then, as one message, unless processors look at each. They count before the rest of a text that was
   * cut off. Default: a run for each input.
   */
  readonly mergeInput?: boolean
  /**
   * What happens when the conversation fills the window of its model: a summary stands for its beginning from then on. `false`: nothing; a
   * prompt that is too long fails its run. Default: it is compacted at 85 % of the window.
   */
  readonly compaction?: false | CompactionSettings
  /**
   * What happens to a result of a tool that is too long: it is kept aside, the model sees its beginning, and with `read_result` it reads the rest. It has
   * that tool from its first long result on, or from the beginning where this field is set. `false`: long results are cut. Default: over 200 000 bytes.
   */
  readonly longResults?: false | LongResults
  /** What its model is told in addition to what was said: files, the time, and facts. Default: nothing. */
  readonly context?: ContextSettings
  /** Texts that its model is told of by name and description, and reads with `read_skill` when it needs them. Default: none. */
  readonly skills?: readonly Skill[]
  /** How many runs of this kind, or of each key of their inputs, are in progress at once over all nodes. Further ones wait, without a slot. Default: any number. */
  readonly concurrency?: ConcurrencySettings<Json>
  /** How many runs of this kind, or of each key of their inputs, begin within a time over all nodes. Further ones wait, without a slot. Default: any number. */
  readonly rate?: RateSettings<Json>
  /** The pool of this kind. Kinds that the same nodes host share a pool. Default: "default". */
  readonly pool?: string
  /** How often a model call or a tool is retried after a failure that may pass. Default 3; 10 for a model call that its provider was too busy for. */
  readonly retries?: number
  /** How often, and after which waits, model calls and tools are retried. A tool may say otherwise for itself. */
  readonly retry?: RetrySettings
  /**
   * How often in one run its model is told that its reply took too long, and in how many replies the arguments of its calls may be no JSON. Beyond that
   * the call is retried as after other failures, or the run fails with `circuit_open`. Default 3.
   */
  readonly recoveries?: number
  /** Functions that steer its loop: before and after tool calls, and when its model has answered. Default: none. */
  readonly hooks?: AgentHooks
  /**
   * With `true` its model may write `terminate: true` beside the arguments of a tool: if that call succeeds, the run ends when all calls of its reply
   * have their results. The text of that reply is the result, or else what the tool returned. Default: false.
   */
  readonly mayTerminate?: boolean
  /**
   * Called after each iteration: when all calls of a reply have their results, or its run is over. The run waits for it, at most 30 s. What it returns
   * or throws changes nothing. After a crash it may be called again for an iteration, or miss one.
   */
  readonly onIteration?: OnIteration
  /** Called once when a run in progress is cancelled, as its last step. It may send messages and log. See docs/sagas.md. */
  onCancel?(this: void, self: AgentCancelSelf, reason: string): void | Promise<void>
  /** How long `onCancel` may take. Default 30 000. */
  readonly onCancelMs?: number
}

export const agentKeys = new Set([
  'kind',
  'description',
  'instructions',
  'model',
  'settings',
  'tools',
  'role',
  'spawns',
  'background',
  'asks',
  'approval',
  'limits',
  'childrenAtOnce',
  'concurrency',
  'rate',
  'onUnknown',
  'input',
  'output',
  'outputRetries',
  'folder',
  'nudge',
  'continues',
  'mergeInput',
  'compaction',
  'longResults',
  'context',
  'skills',
  'pool',
  'retries',
  'retry',
  'recoveries',
  'mayTerminate',
  'hooks',
  'onIteration',
  'onCancel',
  'onCancelMs',
])

/** Throws a ConfigError that names the wrong field. defineWorker checks the fields that agents and handlers share. */
export function checkAgent(agent: AgentWorker): void {
  const { instructions, tools, asks, limits, onUnknown, folder, nudge } = agent
  if (typeof instructions !== 'function' && (typeof instructions !== 'string' || instructions.trim() === '')) {
    throw new ConfigError('an agent needs instructions: a text, or a function (self, input) => text.')
  }
  if (asks !== undefined && typeof asks !== 'boolean')
    throw new ConfigError(`asks must be true or false, not ${preview(asks)}.`)
  checkApprovalRules(agent.approval, checkTools(tools))
  checkDeclared(agent, limitNames, 'an agent')
  for (const [name, value] of Object.entries(limits ?? {}) as [string, number | undefined][]) {
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw new ConfigError(`limits.${name} must be a whole number from 1, not ${preview(value)}.`)
    }
    if (value !== undefined && name.endsWith('Ms') && value > policy.timeoutMsMax) {
      throw new ConfigError(`limits.${name} must be at most ${policy.timeoutMsMax} ms, not ${preview(value)}.`)
    }
  }
  if (onUnknown !== undefined && onUnknown !== 'fail' && onUnknown !== 'tell') {
    throw new ConfigError(`onUnknown must be "fail" or "tell", not ${preview(onUnknown)}.`)
  }
  if (folder !== undefined && typeof folder !== 'function') {
    throw new ConfigError('folder must be a function of the first input: folder: (input) => input.folder.')
  }
  if (agent.onIteration !== undefined && typeof agent.onIteration !== 'function')
    throw new ConfigError(
      `onIteration must be a function: onIteration(context, self) { … }, not ${preview(agent.onIteration)}.`,
    )
  const { mayTerminate, output } = agent
  if (mayTerminate !== undefined && typeof mayTerminate !== 'boolean')
    throw new ConfigError(`mayTerminate must be true or false, not ${preview(mayTerminate)}.`)
  if (mayTerminate === true && output !== undefined)
    throw new ConfigError(
      'an agent with an output ends with a value: give it a terminal tool in place of mayTerminate.',
    )
  checkRole(agent)
  checkHooks(agent.hooks)
  checkSettings(agent.settings)
  checkCompaction(agent.compaction)
  checkLongResults(agent.longResults)
  checkContext(agent.context)
  checkSkills(agent.skills)
  for (const name of ['continues', 'outputRetries', 'recoveries'] as const) {
    const times = agent[name]
    if (times !== undefined && !(Number.isInteger(times) && times >= 0 && times <= timesMost))
      throw new ConfigError(`${name} must be a whole number from 0 to ${timesMost}, not ${preview(times)}.`)
  }
  if (agent.mergeInput !== undefined && typeof agent.mergeInput !== 'boolean')
    throw new ConfigError(`mergeInput must be true or false, not ${preview(agent.mergeInput)}.`)
  if (nudge !== undefined && typeof nudge !== 'string') throw new ConfigError('nudge must be a text.')
}

function checkRole({ role, spawns, background }: AgentWorker): void {
  if (background !== undefined && typeof background !== 'boolean')
    throw new ConfigError(`background must be true or false, not ${preview(background)}.`)
  if (background && spawns === undefined)
    throw new ConfigError('background is for agents that may spawn: name the kinds in spawns.')
  if (role === undefined) return
  if (!roles.includes(role)) throw new ConfigError(`role must be one of ${roles.join(', ')}, not ${preview(role)}.`)
  if (role === 'planner' && spawns !== undefined)
    throw new ConfigError('a planner only reads, so it has no spawns: make it an actor, or leave spawns out.')
}

/** Returns the names of its tools. Null if they are not known before it runs. */
function checkTools(tools: unknown): readonly string[] | null {
  if (isResolver(tools)) return checkResolver(tools)
  if (tools !== undefined && !Array.isArray(tools))
    throw new ConfigError(
      'tools must be a list: tools: [readFile]; or a resolver: { availableTools() { … }, resolve(call) { … } }.',
    )
  const names = new Set<string>()
  for (const tool of (tools ?? []) as readonly unknown[]) {
    if (!isTool(tool))
      throw new ConfigError(`tools holds ${describe(tool)}, which is not a tool: make it with defineTool.`)
    if (names.has(tool.name)) throw new ConfigError(`two tools have the name "${tool.name}": rename one of them.`)
    names.add(tool.name)
  }
  return [...names, ...reservedNames]
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  return 'name' in value ? `an object named ${JSON.stringify(value.name)}` : 'an object'
}
