/** Duty: makes the kinds that a node runs out of definitions: handlers, and agents with what those of one node share. */

import { shown } from '../../core/check/shown.ts'
import {
  type HandlerDefinition,
  isAgentDefinition,
  isWorkerDefinition,
  type WorkerDefinition,
} from '../../core/definition/define-worker.ts'
import type { ModelSource } from '../../core/definition/model.ts'
import { ConfigError } from '../../core/errors.ts'
import { defaultPool, isKind, kindRule } from '../../core/ids.ts'
import { agentBehaviour } from '../agent/agent.ts'
import { HistoryCache } from '../agent/history-cache.ts'
import type { AgentParts } from '../agent/scene.ts'
import { handlerBehaviour } from '../handler/handler.ts'
import { ToolExecutor } from '../tool/executor.ts'
import { ThreadPool } from '../tool/thread/thread-pool.ts'
import type { Behaviour, Kind } from './kind.ts'

export class KindMaker {
  readonly #threads = new ThreadPool()
  readonly #parts: AgentParts

  constructor(models: ModelSource) {
    this.#parts = {
      models,
      executor: new ToolExecutor(this.#threads),
      histories: new HistoryCache(),
    }
  }

  /** Throws a ConfigError that names the kind: it is none, was not defined, or its model or a tool cannot be used. */
  make(name: string, definition: WorkerDefinition): Kind {
    if (!isKind(name)) throw new ConfigError(`${shown(name)} is not a worker kind: ${kindRule}.`)
    if (!isWorkerDefinition(definition))
      throw new ConfigError(`the worker of kind "${name}" is ${shown(definition)}: make it with defineWorker({ … }).`)
    if (!isAgentDefinition(definition)) return handlerKind(name, definition)
    try {
      return kindOf(name, definition, definition.spawns ?? [], agentBehaviour(definition, this.#parts), false)
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

export function handlerKind(name: string, definition: HandlerDefinition): Kind {
  return kindOf(name, definition, definition.spawns, handlerBehaviour(definition), true)
}

/** `spawns`: undefined for any kind. */
function kindOf(
  name: string,
  { pool = defaultPool, description = '' }: WorkerDefinition,
  spawns: readonly string[] | undefined,
  behaviour: Behaviour,
  isHandler: boolean,
): Kind {
  return { name, pool, description, isChildless: spawns?.length === 0, isHandler, behaviour }
}
