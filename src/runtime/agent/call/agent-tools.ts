/**
 * Duty: know what one kind of agent can call, and write its instructions: its own tools, the two tools of delegation if it may spawn, and
 * the one to ask a person if it may ask.
 * Does not own: running the calls (local-calls.ts, delegated-calls.ts, asked-calls.ts).
 * AGENT-TOOLS-1 A tool that the worker's permissions do not name is not offered to the model, and is unknown when it is called.
 * AGENT-TOOLS-2 A kind gets its tools from a source, which is asked at most once in each turn (TOOL-SOURCE-1 of core/ports/tool-source.ts).
 * AGENT-TOOLS-3 The same holds for a tool that the role of the kind leaves out, also if a resolver names it.
 */

import { ignoreRejection } from '../../../core/check/ignore-rejection.ts'
import { preview } from '../../../core/check/preview.ts'
import type { Fit } from '../../../core/check/schema-problems.ts'
import type { AgentSelf } from '../../../core/definition/agent/define-agent.ts'
import { isResolver, listedTools } from '../../../core/definition/agent/tool-resolver.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import type { ToolSpec } from '../../../core/definition/model.ts'
import { type ApprovalContext, isTool, type Tool } from '../../../core/definition/tool/define-tool.ts'
import { ConfigError, TerminalError, TimeoutError, toRuntimeError } from '../../../core/errors.ts'
import type { Json, ToolCallBlock } from '../../../core/history/chat/chat-message.ts'
import type { Assignment } from '../../../core/ports/ports.ts'
import type { ToolSource } from '../../../core/ports/tool-source.ts'
import { decideApproval, isDangerous } from '../../../core/worker/ask/approval.ts'
import { schemaHash } from '../../../core/worker/ask/approval-hash.ts'
import type { SessionApproval } from '../../../core/worker/ask/session-approval.ts'
import { checkArguments, isUnreadable, readArguments } from '../../tool/arguments.ts'
import { inputFormOf } from '../../tool/input-form.ts'
import { limited } from '../../tool/limited.ts'
import { invalidArgumentsText, smallerText, unknownToolText } from '../../tool/messages.ts'
import { ToolRegistry } from '../../tool/registry.ts'
import type { Turn } from '../../turn/turn.ts'
import { runUserPart } from '../../user-code/user-code.ts'
import type { AcceptedCall, CheckedCall } from '../iteration.ts'
import type { LocalCall, LostCall } from './call-host.ts'
import {
  delegationSpecs,
  listSpec,
  listToolName,
  parseSend,
  parseSpawn,
  sendToolName,
  spawnToolName,
} from './child/delegation.ts'
import { isOfferedAtOnce, isOwnTool, ownToolsOf, skillsOf } from './own-tools.ts'
import { forbiddenText } from './person/approval-words.ts'
import { askSpec, askToolName, parseAsk } from './person/ask-person.ts'
import { withoutTerminate, withTerminate } from './terminate.ts'

/** How many lists of tools are kept for each kind. The list for other permissions is made anew each time. */
const specsKept = 100

/** The tools of one kind of agent, from its source. */
export class Toolbox {
  readonly #definition: AgentDefinition
  readonly #source: ToolSource
  #opened: { readonly list: readonly Tool[]; readonly tools: AgentTools }

  /** Throws a ConfigError that names a tool of the definition which no model could call. */
  constructor(definition: AgentDefinition, source: ToolSource = sourceOf(definition)) {
    const list = listedTools(definition.tools)
    this.#definition = definition
    this.#source = source
    this.#opened = { list, tools: new AgentTools(definition, list) }
  }

  /** Asks the source, for as long as a hook may take. While it returns the same array, the result is the same object. */
  async open({ signal, host }: Pick<Turn, 'signal' | 'host'>): Promise<AgentTools> {
    const list = await this.#source.tools(signal, host.policy.hookMs)
    if (list !== this.#opened.list) this.#opened = { list, tools: new AgentTools(this.#definition, inOrder(list)) }
    return this.#opened.tools
  }
}

/** A resolver may list its tools in any order, as servers do. In one order prompts begin alike, and providers find them in their caches. */
function inOrder(tools: readonly Tool[]): readonly Tool[] {
  return tools.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** A planner has only tools that read. */
function mayHave({ role }: AgentDefinition, tool: Tool): boolean {
  return role !== 'planner' || (tool.effect === 'pure' && !isDangerous(tool))
}

const mayRun = { do: 'run' } as const
const noneResolved: ReadonlyMap<string, Tool> = new Map()

/** The list of the definition, or its resolver. */
function sourceOf({ tools }: AgentDefinition): ToolSource {
  if (!isResolver(tools)) {
    const list = listedTools(tools)
    return { tools: async () => list }
  }
  return {
    async tools(signal, timeoutMs) {
      const what = 'availableTools'
      const ask = async (): Promise<unknown> => runUserPart(what, () => tools.availableTools())
      const end = await limited({ signal, timeoutMs, what }, async (_signal, started) => {
        started()
        return (await Promise.allSettled([ask()]))[0]
      })
      if (end.kind !== 'ended') throw new TimeoutError(`${what} did not finish within ${timeoutMs} ms.`)
      if (end.value.status === 'rejected') throw end.value.reason
      const list = end.value.value
      if (Array.isArray(list) && list.every(isTool)) return list
      throw new ConfigError(`availableTools must return a list of tools, made with defineTool, not ${preview(list)}.`)
    },
  }
}

export class AgentTools {
  readonly #definition: AgentDefinition
  readonly #registry: ToolRegistry
  /** The list of tools for a worker without restrictions that may not spawn. */
  readonly #own: readonly ToolSpec[]
  /** The same list, for a conversation that has had a long result. */
  readonly #ownAndLater: readonly ToolSpec[]
  /** Tools of troupe that run like those of the kind. */
  readonly #ownTools: ReadonlyMap<string, Tool>
  /**
   * Lists of tools, by the names of permitted tools and the descriptions of kinds. Adapters keep what they build from a list, so it must be the same
   * array.
   */
  readonly #specs = new Map<string, readonly ToolSpec[]>()
  /** The tools that a resolver gave for single calls, by the ids of the calls. */
  readonly #resolved: ReadonlyMap<string, Tool>

  /** Throws a ConfigError that names the tool. */
  constructor(
    definition: AgentDefinition,
    tools: readonly Tool[],
    registry = new ToolRegistry(tools.filter((tool) => mayHave(definition, tool))),
    resolved = noneResolved,
  ) {
    this.#definition = definition
    this.#registry = registry
    this.#resolved = resolved
    const given = ownToolsOf(definition)
    this.#ownTools = new Map(given.map((tool) => [tool.name, tool]))
    const [atOnce, later] = [true, false].map((is) => given.filter((tool) => isOfferedAtOnce(definition, tool) === is))
    const ofTroupe = [...(definition.asks ? [askSpec] : []), ...new ToolRegistry(atOnce ?? []).specs()]
    const ofKind = definition.mayTerminate === true ? withTerminate(this.#registry.specs()) : this.#registry.specs()
    this.#own = ofTroupe.length > 0 ? [...ofKind, ...ofTroupe] : ofKind
    this.#ownAndLater = later?.length ? [...this.#own, ...new ToolRegistry(later).specs()] : this.#own
  }

  /** The same tools, with these for single calls. */
  resolving(resolved: ReadonlyMap<string, Tool>): AgentTools {
    return new AgentTools(this.#definition, [], this.#registry, resolved)
  }

  /** Undefined for a tool that the worker does not have, and for one that troupe gives to agents. */
  toolOf({ toolCallId, toolName }: ToolCallBlock): Tool | undefined {
    const resolved = this.#resolved.get(toolCallId)
    if (resolved && !mayHave(this.#definition, resolved)) return undefined
    return resolved ?? this.#registry.get(toolName) ?? this.#ownTools.get(toolName)
  }

  /** The names of the kind's own tools, and of the tool that asks a person. */
  get ownNames(): readonly string[] {
    return this.#own.map(({ name }) => name)
  }

  kinds({ permissions }: Assignment): readonly string[] {
    const { spawns = [] } = this.#definition
    return permissions.kinds === undefined ? spawns : spawns.filter((kind) => permissions.kinds?.includes(kind))
  }

  /** `hasLong`: the conversation has had a long result. */
  specs({ assignment, host }: Turn, hasLong = false): readonly ToolSpec[] {
    const kinds = this.kinds(assignment)
    const all = hasLong ? this.#ownAndLater : this.#own
    if (kinds.length === 0 && assignment.permissions.tools === undefined) return all
    const describe = (kind: string) => host.describeKind(kind)
    const own = all.filter(({ name }) => isOwnTool(name) || isAllowed(assignment, name))
    const key = JSON.stringify([own.map(({ name }) => name), kinds.map((kind) => [kind, describe(kind)])])
    const known = this.#specs.get(key)
    if (known) return known
    // Models write permissions when they spawn, so there may be any number of different lists.
    if (this.#specs.size === specsKept) this.#specs.clear()
    const { background = false } = this.#definition
    const delegation = kinds.length === 0 ? [] : delegationSpecs(kinds, describe, background)
    const specs = kinds.length === 0 ? own : [...own, ...delegation, ...(background ? [listSpec] : [])]
    this.#specs.set(key, specs)
    return specs
  }

  /** Throws a TerminalError if the definition's function throws or returns no text. */
  instructions({ assignment }: Turn, folder: string | null, input: Json): string {
    const { workerId: id, name, kind, sessionId, parentId, depth } = assignment
    const own = this.#text({ id, name, kind, sessionId, parentId, depth, folder }, input)
    const skills = skillsOf(this.#definition)
    const text = skills === null ? own : `${own}\n\n${skills.prompt}`
    if (this.#definition.spawns === undefined) return text
    return `${text}\n\nYou are worker ${id}${parentId === null ? '' : `, a child of worker ${parentId}`}.`
  }

  #text(self: AgentSelf, input: Json): string {
    const { instructions } = this.#definition
    if (typeof instructions === 'string') return instructions
    let text: unknown
    try {
      text = runUserPart('instructions', () => instructions(self, input))
    } catch (cause) {
      throw new TerminalError(`the instructions of ${self.kind} threw: ${toRuntimeError(cause).message}`, { cause })
    }
    if (typeof text === 'string') return text
    ignoreRejection(text)
    throw new TerminalError(
      `the instructions of ${self.kind} must be a text, but its function returned ${typeof text}.`,
    )
  }

  /** A tool that troupe gives to agents. */
  isBuiltIn(name: string): boolean {
    return this.isDelegation(name) || this.isAsk(name) || this.#ownTools.has(name)
  }

  /** True for a call that ends the run instead of being run. */
  isTerminal(call: ToolCallBlock): boolean {
    return this.toolOf(call)?.terminal === true
  }

  isDelegation(name: string): boolean {
    const { spawns, background } = this.#definition
    if (spawns === undefined) return false
    return name === spawnToolName || name === sendToolName || (background === true && name === listToolName)
  }

  isAsk(name: string): boolean {
    return this.#definition.asks === true && name === askToolName
  }

  check(call: ToolCallBlock, assignment: Assignment): CheckedCall {
    const { toolName } = call
    const fit = this.#fitOf(call, assignment)
    if (fit === null) return { kind: 'invalid', call, text: unknownToolText(toolName, this.names(assignment)) }
    if (!fit.ok) {
      const text = invalidArgumentsText(toolName, fit.reasons)
      const tool = this.toolOf(call)
      // A text is no JSON, and a tool whose argument is a text needs none.
      const isText = tool !== undefined && inputFormOf(tool).isText
      return isUnreadable(call) && !isText
        ? { kind: 'invalid', call, text: `${text}. ${smallerText}`, isBroken: true }
        : { kind: 'invalid', call, text }
    }
    return { kind: 'accepted', call, input: fit.value, verdict: mayRun }
  }

  /** Does this call need an approval? A call that is forbidden is invalid. */
  approve(one: AcceptedCall, approval: SessionApproval, context: ApprovalContext): CheckedCall {
    const { call, input } = one
    const tool = this.toolOf(call) ?? ({ name: call.toolName, effect: 'pure' } as const)
    const { policy, trusted } = approval
    const verdict = decideApproval({ tool, input, context, rules: this.#definition.approval, policy, trusted })
    if (verdict.do === 'deny')
      return { kind: 'invalid', call, text: forbiddenText(call.toolName, verdict.why), isForbidden: true }
    return { ...one, verdict }
  }

  /** The schema of the arguments of a tool of the kind; built-in tools check theirs by themselves. */
  inputSchema(call: ToolCallBlock): Readonly<Record<string, unknown>> {
    const tool = this.toolOf(call)
    return tool === undefined ? {} : inputFormOf(tool).inputSchema
  }

  schemaHash(call: ToolCallBlock): string {
    return schemaHash(this.inputSchema(call))
  }

  /** Null if the worker has no such tool. */
  #fitOf(call: ToolCallBlock, assignment: Assignment): Fit<unknown> | null {
    const { toolName } = call
    const kinds = this.kinds(assignment)
    if (this.isDelegation(toolName) && kinds.length > 0) return parseDelegation(call, kinds)
    const ownTool = this.#ownTools.get(toolName)
    if (ownTool) return checkArguments(ownTool, call)
    if (!isAllowed(assignment, toolName)) return null
    if (this.isAsk(toolName)) return parseAskCall(call)
    const tool = this.toolOf(call)
    return tool === undefined ? null : checkArguments(tool, this.plain(call))
  }

  /** The call with only the arguments of its tool: without the word that ends the loop. */
  plain(call: ToolCallBlock): ToolCallBlock {
    const tool = this.#definition.mayTerminate === true ? this.toolOf(call) : undefined
    return tool === undefined ? call : withoutTerminate(call, tool)
  }

  /** Splits these calls into those that run in this node, and those that an earlier turn started and that cannot run any more. */
  locals(checked: readonly CheckedCall[], started: ReadonlySet<string>): readonly (LocalCall | LostCall)[] {
    return checked.flatMap((one): (LocalCall | LostCall)[] => {
      const { call } = one
      const tool = this.toolOf(call)
      const wasStarted = started.has(call.toolCallId)
      if (one.kind === 'accepted' && tool)
        return [{ call: this.plain(call), tool, input: one.input, wasStarted, isLost: false }]
      return wasStarted ? [{ call, tool, input: call.inputText ?? call.input, isLost: true }] : []
    })
  }

  /** The names that a model may call. */
  names(assignment: Assignment): string[] {
    const own = this.#own.flatMap(({ name }) => (isOwnTool(name) || isAllowed(assignment, name) ? [name] : []))
    return this.kinds(assignment).length > 0
      ? [...own, spawnToolName, sendToolName, ...(this.#definition.background ? [listToolName] : [])]
      : own
  }
}

function parseDelegation(call: ToolCallBlock, kinds: readonly string[]): Fit<unknown> {
  const read = readArguments(call)
  if (!read.ok) return read
  if (call.toolName === listToolName) return { ok: true, value: {} }
  return call.toolName === spawnToolName ? parseSpawn(read.value, kinds) : parseSend(read.value)
}

function parseAskCall(call: ToolCallBlock): Fit<unknown> {
  const read = readArguments(call)
  return read.ok ? parseAsk(read.value) : read
}

function isAllowed({ permissions }: Assignment, tool: string): boolean {
  return permissions.tools === undefined || permissions.tools.includes(tool)
}
