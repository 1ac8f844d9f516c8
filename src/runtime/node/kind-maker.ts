/**
 * Duty: make the kinds that a node runs from their definitions: handlers, and agents with the parts that all agents of a node share.
 * KIND-MAKER-1 Each turn of a kind is reported to telemetry as one span.
 */

import { hash } from 'node:crypto'
import { preview } from '../../core/check/preview.ts'
import {
  type AgentDefinition,
  type HandlerDefinition,
  isAgentDefinition,
  isWorkerDefinition,
  type WorkerDefinition,
} from '../../core/definition/define-worker.ts'
import type { ModelSource } from '../../core/definition/model.ts'
import { ConfigError } from '../../core/errors.ts'
import { defaultPool, isKind, kindRule } from '../../core/ids.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import { agentBehaviour } from '../agent/agent.ts'
import type { AgentParts } from '../agent/agent-turn.ts'
import { HistoryCache } from '../agent/history-cache.ts'
import { handlerBehaviour } from '../handler/handler.ts'
import { ToolExecutor } from '../tool/executor.ts'
import { toJsonSchema } from '../tool/input-form.ts'
import { ThreadPool } from '../tool/thread/thread-pool.ts'
import type { Behaviour } from '../turn/behaviour.ts'
import { gated } from './gates.ts'
import type { Kind } from './kind.ts'
import { forItsSort } from './kind-sort.ts'

export class KindMaker {
  readonly #threads = new ThreadPool()
  readonly #parts: AgentParts

  constructor(models: ModelSource, telemetry: Telemetry = noTelemetry) {
    this.#parts = {
      telemetry,
      models,
      executor: new ToolExecutor(this.#threads),
      histories: new HistoryCache(),
    }
  }

  /** Throws a ConfigError that names the kind: its name is invalid, defineWorker did not make it, or its model or a tool cannot be used. */
  make(name: string, definition: WorkerDefinition): Kind {
    if (!isKind(name)) throw new ConfigError(`${preview(name)} is not a worker kind: ${kindRule}.`)
    if (!isWorkerDefinition(definition))
      throw new ConfigError(`the worker of kind "${name}" is ${preview(definition)}: make it with defineWorker({ … }).`)
    if (definition.kind !== undefined && definition.kind !== name)
      throw new ConfigError(
        `kind "${name}" is defined with kind: "${definition.kind}": whoever passes its definition would reach another kind. Name its file, or its key in workers, "${definition.kind}", or change the field.`,
      )
    if (!isAgentDefinition(definition)) return handlerKind(name, definition, this.#parts.telemetry)
    try {
      return agentKind(name, definition, this.#parts)
    } catch (cause) {
      if (cause instanceof ConfigError) throw new ConfigError(`kind "${name}": ${cause.message}`, { cause })
      throw cause
    }
  }

  /** Ends the threads of tools. */
  async close(): Promise<void> {
    await this.#threads.close()
  }
}

export function handlerKind(name: string, definition: HandlerDefinition, telemetry: Telemetry = noTelemetry): Kind {
  const behaviour = reported(forItsSort(gated(handlerBehaviour(definition), definition), false), telemetry)
  return kindOf(name, definition, definition.spawns, behaviour, true)
}

export function agentKind(name: string, definition: AgentDefinition, parts: AgentParts): Kind {
  const behaviour = reported(forItsSort(gated(agentBehaviour(definition, parts), definition), true), parts.telemetry)
  return kindOf(name, definition, definition.spawns ?? [], behaviour, false)
}

function reported(behaviour: Behaviour, telemetry: Telemetry): Behaviour {
  if (telemetry === noTelemetry) return behaviour
  return (turn) => {
    const { sessionId, workerId, kind, pool, run, starts, queuedAt, token, commitId } = turn.assignment
    // This compares two clocks: Redis says since when the worker waited, this node says until when.
    const waited: Attributes = queuedAt == null ? {} : { waitedMs: Math.max(0, Date.now() - queuedAt) }
    // The id of a commit is the token of its turn, and a number.
    const lastToken = commitId.slice(0, commitId.lastIndexOf(':'))
    const last: Attributes = lastToken === '' ? {} : { lastTurn: turnId(workerId, lastToken) }
    const named = { turn: turnId(workerId, token), ...last }
    const span = telemetry.startSpan('turn', { sessionId, workerId, kind, pool, run, starts, ...named, ...waited })
    // The behaviour of a cancelled turn may return earlier than the turn is over, or much later.
    void turn.finished.then((outcome) => span.end({ outcome }))
    return behaviour(turn)
  }
}

/** A token gives the right to write, so it does not leave the node. */
function turnId(workerId: string, token: string): string {
  return hash('sha256', `${workerId} ${token}`).slice(0, 16)
}

/** `spawns`: undefined if the kind may spawn any kind. */
function kindOf(
  name: string,
  definition: WorkerDefinition,
  spawns: readonly string[] | undefined,
  behaviour: Behaviour,
  isHandler: boolean,
): Kind {
  const { pool = defaultPool, description = '', onCancel } = definition
  const hasOnCancel = onCancel !== undefined
  const window = 'compaction' in definition && definition.compaction ? definition.compaction.window : undefined
  const input = inputSchemaOf(definition)
  return {
    name,
    pool,
    description,
    window,
    input,
    isChildless: spawns?.length === 0,
    isHandler,
    hasOnCancel,
    behaviour,
  }
}

/** A longer schema is left out: nobody fills in such a form, and whoever lists the kinds would read it. */
const inputSchemaCharsMax = 8_000

/** JSON Schema of the inputs of a handler. Undefined if the definition has no schema, or one that JSON Schema cannot express. */
function inputSchemaOf(definition: WorkerDefinition): Kind['input'] {
  if (!('input' in definition) || definition.input === undefined) return undefined
  try {
    const schema = toJsonSchema(definition.input)
    return JSON.stringify(schema).length <= inputSchemaCharsMax ? schema : undefined
  } catch {
    // The schema itself still checks inputs: only a form for people is missing.
    return undefined
  }
}
