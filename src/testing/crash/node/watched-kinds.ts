/**
 * Duty: make the kinds of a node with a watch on their user code: `receive`, models and tools. A tool is watched where the node calls it, so
 * that tools in threads are watched too.
 */

import type { Self } from '../../../core/definition/define-worker.ts'
import {
  type HandlerDefinition,
  isAgentDefinition,
  type WorkerDefinition,
} from '../../../core/definition/define-worker.ts'
import type { Model, ModelSource } from '../../../core/definition/model.ts'
import type { AgentCancelSelf } from '../../../core/definition/on-cancel.ts'
import { noTelemetry } from '../../../core/ports/telemetry.ts'
import type { Message } from '../../../core/worker/message/message.ts'
import { HistoryCache } from '../../../runtime/agent/history-cache.ts'
import type { Kind } from '../../../runtime/node/kind.ts'
import { agentKind, handlerKind } from '../../../runtime/node/kind-maker.ts'
import { ToolExecutor, type ToolOutcome, type ToolRun } from '../../../runtime/tool/executor.ts'
import { ThreadPool } from '../../../runtime/tool/thread/thread-pool.ts'
import type { Watch } from './watch.ts'

export class WatchedKinds {
  readonly #watch: Watch
  readonly #models: (kind: string) => ModelSource
  readonly #threads = new ThreadPool()
  readonly #histories = new HistoryCache()

  /** `models` may differ from kind to kind. */
  constructor(watch: Watch, models: (kind: string) => ModelSource) {
    this.#watch = watch
    this.#models = models
  }

  make(name: string, definition: WorkerDefinition): Kind {
    if (!isAgentDefinition(definition)) return handlerKind(name, watchedHandler(definition, this.#watch, name))
    const models = this.#models(name)
    const parts = {
      models: { open: (model: unknown) => watchedModel(models.open(model), this.#watch, name) },
      executor: new WatchedExecutor(this.#threads, this.#watch, name),
      histories: this.#histories,
      telemetry: noTelemetry,
    }
    return agentKind(name, { ...definition, ...watchedOnCancel(definition, this.#watch, name) }, parts)
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}

function watchedHandler(definition: HandlerDefinition, watch: Watch, kind: string): HandlerDefinition {
  const receive = async (message: Message<never>, self: Self<never>): Promise<void> => {
    const run = { what: 'receive', kind, name: null, workerId: self.id, idempotencyKey: self.idempotencyKey } as const
    await watch.around(`receive of ${kind}`, run, () => definition.receive(message, self))
  }
  return { ...definition, receive, ...watchedOnCancel(definition, watch, kind) }
}

/** What ends a cancelled run is user code too. */
function watchedOnCancel<Self extends AgentCancelSelf>(
  { onCancel }: { readonly onCancel?: (self: Self, reason: string) => unknown },
  watch: Watch,
  kind: string,
) {
  if (onCancel === undefined) return {}
  return {
    onCancel: async (self: Self, reason: string): Promise<void> => {
      const { id, idempotencyKey } = self
      const run = { what: 'onCancel', kind, name: null, workerId: id, idempotencyKey } as const
      await watch.around(`onCancel of ${kind}`, run, () => onCancel(self, reason))
    },
  }
}

function watchedModel(model: Model, watch: Watch, kind: string): Model {
  return {
    id: model.id,
    reply(request, call) {
      const { idempotencyKey } = request
      const workerId = idempotencyKey.slice(0, idempotencyKey.indexOf('/'))
      const run = { what: 'model', kind, name: null, workerId, idempotencyKey } as const
      return watch.around(`model of ${kind}`, run, () => model.reply(request, call))
    },
  }
}

class WatchedExecutor extends ToolExecutor {
  readonly #watch: Watch
  readonly #kind: string

  constructor(threads: ThreadPool, watch: Watch, kind: string) {
    super(threads)
    this.#watch = watch
    this.#kind = kind
  }

  override run(call: ToolRun): Promise<ToolOutcome> {
    const { workerId, idempotencyKey } = call.parts
    const { name } = call.tool
    const run = { what: 'tool', kind: this.#kind, name, workerId, idempotencyKey } as const
    return this.#watch.around(`tool ${name} of ${this.#kind}`, run, () => super.run(call))
  }
}
