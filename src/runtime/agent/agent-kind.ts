/**
 * Duty: open a kind of agent on this node: its model, its tools, its output, its compaction; and the same kind as one worker is configured.
 * AGENT-KIND-1 A configuration that this node cannot open ends runs with a sentence that says why. It ends no turn without one.
 */
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import type { Model } from '../../core/definition/model.ts'
import { ConfigError, toRuntimeError } from '../../core/errors.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import { type Configuration, encodeConfiguration } from '../../core/worker/message/configuration.ts'
import { commonPermissions } from '../../core/worker/permissions.ts'
import type { AgentKind, AgentParts } from './agent-turn.ts'
import { Toolbox } from './call/agent-tools.ts'
import type { Compaction } from './compaction/compactor.ts'
import { ContextLimit } from './compaction/context-limit.ts'
import { StickyContext } from './context/sticky-context.ts'
import { outputFormOf } from './reply/output.ts'

/** How many configurations of one kind are kept open. */
const keptMost = 100

/** Throws a ConfigError when the model or a tool of the definition cannot be used. */
export function openKind(definition: AgentDefinition, parts: AgentParts): AgentKind {
  const model = openModel(definition, parts)
  return {
    definition,
    written: definition,
    model,
    toolbox: new Toolbox(definition),
    sticky: StickyContext.of(definition.context, model.id),
    output: outputFormOf(definition),
    compaction: compactionOf(definition, model, parts),
  }
}

/** Throws a ConfigError when the model is not known, or does not take these settings. */
export function openModel(
  { model: named, settings }: Pick<AgentDefinition, 'model' | 'settings'>,
  { models }: AgentParts,
) {
  const model = models.open(named)
  const problem = settings && model.settingProblem?.(settings)
  if (problem) throw new ConfigError(problem)
  return model
}

/** The kind as its workers are configured. */
export class ConfiguredKinds {
  readonly #kind: AgentKind
  readonly #parts: AgentParts
  readonly #kept = new Map<string, AgentKind>()

  constructor(kind: AgentKind, parts: AgentParts) {
    this.#kind = kind
    this.#parts = parts
  }

  /** Narrows the permissions of the assignment, too: children get no more tools than their parent uses. */
  of(assignment: Assignment): AgentKind {
    const { configured = null, permissions } = assignment
    if (configured === null) return this.#kind
    const { tools } = configured
    if (tools !== undefined) Object.assign(assignment, { permissions: commonPermissions(permissions, { tools }) })
    const name = encodeConfiguration(configured)
    const known = this.#kept.get(name)
    if (known) return known
    if (this.#kept.size === keptMost) this.#kept.clear()
    const kind = this.#open(configured)
    this.#kept.set(name, kind)
    return kind
  }

  #open(configured: Configuration): AgentKind {
    const definition = definitionWith(this.#kind.definition, configured)
    if (configured.model === undefined) return { ...this.#kind, definition }
    try {
      const model = openModel(definition, this.#parts)
      return { ...this.#kind, definition, model, compaction: compactionOf(definition, model, this.#parts) }
    } catch (thrown) {
      const { message } = toRuntimeError(thrown)
      const why = `the model ${configured.model}, which was set for this worker, cannot be used on this node: ${message}`
      const reply = () => Promise.reject(new ConfigError(why))
      return { ...this.#kind, definition, model: { id: configured.model, reply }, compaction: null }
    }
  }
}

export function definitionWith(definition: AgentDefinition, { model, settings }: Configuration): AgentDefinition {
  return {
    ...definition,
    ...(model !== undefined && { model }),
    ...(settings !== undefined && { settings: { ...definition.settings, ...settings } }),
  }
}

function compactionOf({ compaction = {} }: AgentDefinition, model: Model, { models }: AgentParts): Compaction | null {
  if (compaction === false) return null
  const writer = compaction.model === undefined ? model : models.open(compaction.model)
  return { settings: compaction, model: writer, limit: new ContextLimit(model, compaction.window) }
}
