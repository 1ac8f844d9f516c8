/** Duty: `testTroupe`: a node and a client on a Redis of their own, all of which end with the test. */
import { randomBytes } from 'node:crypto'
import { connect, type Troupe } from '../client/client.ts'
import { loadWorkers, type StartNodeOptions, startNode, type TroupeNode } from '../compose.ts'
import { readConfig } from '../config.ts'
import { isAgentDefinition, type WorkerDefinition } from '../core/definition/define-worker.ts'
import { type Definition, isDefinition } from '../core/definition/kind-types.ts'
import { ConfigError } from '../core/errors.ts'
import type { RunResult } from '../core/history/entry.ts'
import type { DeepReadonly } from '../core/read-only.ts'
import { findOrStartRedis } from '../dev/redis.ts'
import { folderOf } from '../runtime/node/node-kinds.ts'
import type { Replies } from './crash/node/node-order.ts'
import { removeKeys } from './crash/remove-keys.ts'
import { scriptedReplies } from './scripted-replies.ts'

export interface TestTroupeOptions
  extends Pick<StartNodeOptions, 'workers' | 'concurrency' | 'models' | 'logger' | 'telemetry' | 'permissions'> {
  /** Replies for agents: by kind, what the model answers, call by call. An agent without them has its own model. */
  readonly replies?: Replies
  /** A Redis to use; the test gets a namespace of its own there, and its keys are removed. Default: one is started and thrown away. */
  readonly redisUrl?: string
}

export interface TestTroupe extends AsyncDisposable {
  readonly client: Troupe
  readonly node: TroupeNode
  readonly redisUrl: string
  readonly namespace: string
  /** Creates a session and waits for its result. */
  run<Given, Result = unknown>(
    kind: string | Definition<Given, Result>,
    input?: NoInfer<DeepReadonly<Given>>,
  ): Promise<RunResult<Result>>
}

/** Starts a Redis, a node and a client (index.ts). */
export async function testTroupe({ workers, replies = {}, redisUrl, ...node }: TestTroupeOptions): Promise<TestTroupe> {
  const definitions = await withReplies(workers, replies)
  const parts = new AsyncDisposableStack()
  try {
    const wish = { url: redisUrl, mode: 'test', path: readConfig().path ?? '', mayInstall: false } as const
    const redis = parts.use(await findOrStartRedis(wish))
    const namespace = `test-${randomBytes(6).toString('hex')}`
    if (redis.how === 'given') parts.defer(() => removeKeys(redis.url, [namespace]))
    const address = { redisUrl: redis.url, namespace }
    const started = await startNode({ ...node, ...address, workers: definitions })
    parts.defer(() => started.stop({ force: true }))
    const client = parts.use(await connect(address))
    return {
      client,
      node: started,
      ...address,
      run: async (kind, input) => {
        if (isDefinition(kind)) return (await client.sessions.create(kind, { input: input as never })).result()
        return (await client.sessions.create({ kind, input: input ?? null })).result() as Promise<RunResult<never>>
      },
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function withReplies(
  workers: StartNodeOptions['workers'],
  replies: Replies,
): Promise<ReadonlyMap<string, WorkerDefinition>> {
  const folder = folderOf(workers)
  const given = folder === undefined ? workers : await loadWorkers(folder)
  const definitions = new Map(given instanceof Map ? given : Object.entries(given))
  for (const kind of Object.keys(replies)) {
    const definition = definitions.get(kind)
    if (definition === undefined || !isAgentDefinition(definition))
      throw new ConfigError(`replies names kind "${kind}", which is no agent of these workers.`)
    definitions.set(kind, { ...definition, model: scriptedReplies(kind, replies)?.open(undefined) })
  }
  return definitions
}
