/**
 * Duty: what one kind of agent can call: its tools, and with `spawns` the two of delegation; and the instructions that go with them.
 * A tool that the worker's grant does not name is not shown, and unknown when it is called.
 */

import type { Fit } from '../../../core/check/schema-problems.ts'
import type { AgentSelf } from '../../../core/definition/define-agent.ts'
import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import type { ToolSpec } from '../../../core/definition/model.ts'
import { TerminalError, toRuntimeError } from '../../../core/errors.ts'
import type { ToolCallBlock } from '../../../core/history/chat-message.ts'
import type { Grant } from '../../../core/ports/ports.ts'
import { checkArguments, readArguments } from '../../tool/arguments.ts'
import { invalidArgumentsText, unknownToolText } from '../../tool/messages.ts'
import { ToolRegistry } from '../../tool/registry.ts'
import type { Turn } from '../../turn/turn.ts'
import type { CheckedCall } from '../iteration.ts'
import { delegationSpecs, parseSend, parseSpawn, sendToolName, spawnToolName } from './delegation.ts'
import type { LocalCall, LostCall } from './local-calls.ts'

/** Lists of tools that an agent's workers share; those of other grants are made anew. */
const specsKept = 100

export class AgentTools {
  readonly #definition: AgentDefinition
  readonly #registry: ToolRegistry
  /** Of an agent that is restricted in nothing and spawns nothing. */
  readonly #own: readonly ToolSpec[]
  /** By what the grant allows and what is known of the kinds: adapters keep what they make of a list. */
  readonly #specs = new Map<string, readonly ToolSpec[]>()

  /** Throws a ConfigError that names the tool. */
  constructor(definition: AgentDefinition) {
    this.#definition = definition
    this.#registry = new ToolRegistry(definition.tools ?? [])
    this.#own = this.#registry.specs()
  }

  kinds({ allowed }: Grant): readonly string[] {
    const { spawns = [] } = this.#definition
    return allowed.kinds === undefined ? spawns : spawns.filter((kind) => allowed.kinds?.includes(kind))
  }

  specs({ grant, host }: Turn): readonly ToolSpec[] {
    const kinds = this.kinds(grant)
    if (kinds.length === 0 && grant.allowed.tools === undefined) return this.#own
    const describe = (kind: string) => host.describeKind(kind)
    const own = this.#own.filter(({ name }) => isAllowed(grant, name))
    const key = JSON.stringify([own.map(({ name }) => name), kinds.map((kind) => [kind, describe(kind)])])
    const known = this.#specs.get(key)
    if (known) return known
    // Grants are what models write: there may be as many as they like.
    if (this.#specs.size === specsKept) this.#specs.clear()
    const specs = kinds.length === 0 ? own : [...own, ...delegationSpecs(kinds, describe)]
    this.#specs.set(key, specs)
    return specs
  }

  /** Throws a TerminalError where a function gives none. */
  instructions({ grant }: Turn, folder: string | null): string {
    const { workerId: id, name, kind, sessionId, parentId, depth } = grant
    const text = this.#text({ id, name, kind, sessionId, parentId, depth, folder })
    if (this.#definition.spawns === undefined) return text
    return `${text}\n\nYou are worker ${id}${parentId === null ? '' : `, a child of worker ${parentId}`}.`
  }

  #text(self: AgentSelf): string {
    const { instructions } = this.#definition
    if (typeof instructions === 'string') return instructions
    let text: unknown
    try {
      text = instructions(self)
    } catch (cause) {
      throw new TerminalError(`the instructions of ${self.kind} threw: ${toRuntimeError(cause).message}`, { cause })
    }
    if (typeof text === 'string') return text
    throw new TerminalError(`the instructions of ${self.kind} are no text, but ${typeof text}.`)
  }

  isDelegation(name: string): boolean {
    return this.#definition.spawns !== undefined && (name === spawnToolName || name === sendToolName)
  }

  check(call: ToolCallBlock, grant: Grant): CheckedCall {
    const { toolName } = call
    const fit = this.#fitOf(call, grant)
    if (fit === null) return { kind: 'invalid', call, text: unknownToolText(toolName, this.#names(grant)) }
    if (!fit.ok) return { kind: 'invalid', call, text: invalidArgumentsText(toolName, fit.reasons) }
    return { kind: 'accepted', call, input: fit.value }
  }

  /** Null for a tool that the worker does not have. */
  #fitOf(call: ToolCallBlock, grant: Grant): Fit<unknown> | null {
    const { toolName } = call
    const kinds = this.kinds(grant)
    if (this.isDelegation(toolName) && kinds.length > 0) return parseDelegation(call, kinds)
    const tool = isAllowed(grant, toolName) ? this.#registry.get(toolName) : undefined
    return tool === undefined ? null : checkArguments(tool, call)
  }

  /** Of these calls those that run in the node, and those that were started in one and cannot be run any more. */
  locals(checked: readonly CheckedCall[], started: ReadonlySet<string>): readonly (LocalCall | LostCall)[] {
    return checked.flatMap((one): (LocalCall | LostCall)[] => {
      const { call } = one
      const tool = this.#registry.get(call.toolName)
      const wasStarted = started.has(call.toolCallId)
      if (one.kind === 'accepted' && tool) return [{ call, tool, input: one.input, wasStarted, isLost: false }]
      return wasStarted ? [{ call, tool, input: call.inputText ?? call.input, isLost: true }] : []
    })
  }

  #names(grant: Grant): string[] {
    const own = this.#registry.list().flatMap(({ name }) => (isAllowed(grant, name) ? [name] : []))
    return this.kinds(grant).length > 0 ? [...own, spawnToolName, sendToolName] : own
  }
}

function parseDelegation(call: ToolCallBlock, kinds: readonly string[]): Fit<unknown> {
  const read = readArguments(call)
  if (!read.ok) return read
  return call.toolName === spawnToolName ? parseSpawn(read.value, kinds) : parseSend(read.value)
}

function isAllowed({ allowed }: Grant, tool: string): boolean {
  return allowed.tools === undefined || allowed.tools.includes(tool)
}
