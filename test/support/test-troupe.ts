/**
 * A node and a client in the test's own process, in a namespace of their own, against the Redis of the test run.
 * A turn that breaks goes on when its lease has ended, and may end well: so it fails the test, unless that has a logger of its own.
 */
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { inject } from 'vitest'
import { connectInternal, type InternalConnectOptions, type Troupe } from '../../src/client/client.ts'
import type { Session } from '../../src/client/session/session.ts'
import type { CreateSession } from '../../src/client/submission/submission.ts'
import { type InternalNodeOptions, startInternalNode, type TroupeNode } from '../../src/compose.ts'
import type { WorkerDefinition } from '../../src/core/definition/define-worker.ts'
import type { Model } from '../../src/core/definition/model.ts'
import type { Entry, RunResult } from '../../src/core/history/entry.ts'
import { openModels } from '../../src/models/model-source.ts'
import { KindMaker } from '../../src/runtime/node/kind-maker.ts'
import { tagOf } from '../../src/store/keys.ts'
import { newNamespace } from './namespace.ts'
import { isNodeFault } from './node-fault.ts'
import { sureLeases } from './test-policy.ts'
import { awaitResult } from './time/await-session.ts'

export type Workers = Readonly<Record<string, WorkerDefinition>>

type NodeSettings = Partial<Omit<InternalNodeOptions, 'kinds' | 'namespace'>> & {
  /** Default: the offline model. */
  readonly modelsByName?: Readonly<Record<string, Model>>
}

export interface TestTroupeOptions extends NodeSettings {
  readonly workers: Workers
  readonly client?: Partial<InternalConnectOptions>
}

export class TestTroupe implements AsyncDisposable {
  readonly redisUrl: string
  readonly namespace: string
  readonly client: Troupe
  /** A connection to look at keys with. */
  readonly redis: Redis
  readonly #nodes: TroupeNode[] = []
  readonly #complaints: string[] = []

  private constructor(redisUrl: string, namespace: string, client: Troupe) {
    this.redisUrl = redisUrl
    this.namespace = namespace
    this.client = client
    this.redis = new Redis(redisUrl)
  }

  /** A client alone; nodes come by `startNode`. */
  static async connect(options: Partial<InternalConnectOptions> = {}): Promise<TestTroupe> {
    const redisUrl = options.redisUrl ?? inject('redisUrl')
    const namespace = options.namespace ?? newNamespace()
    return new TestTroupe(redisUrl, namespace, await connectInternal({ ...options, redisUrl, namespace }))
  }

  /** A client and one node. */
  static async start({ workers, client, ...settings }: TestTroupeOptions): Promise<TestTroupe> {
    const troupe = await TestTroupe.connect({
      ...(settings.redisUrl ? { redisUrl: settings.redisUrl } : {}),
      ...client,
    })
    await troupe.startNode(workers, settings)
    return troupe
  }

  async startNode(workers: Workers, { modelsByName = {}, ...settings }: NodeSettings = {}): Promise<TroupeNode> {
    const models = openModels({ env: {} })
    const open = (model: unknown) => models.open(modelsByName[String(model)] ?? model)
    const maker = new KindMaker({ open })
    const node = await startInternalNode({
      redisUrl: this.redisUrl,
      logger: pino({ level: 'info' }, { write: (line: string) => this.#hear(line) }),
      ...settings,
      namespace: this.namespace,
      kinds: Object.entries(workers).map(([name, definition]) => maker.make(name, definition)),
      onStopped: () => maker.close(),
      policy: { ...sureLeases, ...settings.policy },
    })
    this.#nodes.push(node)
    return node
  }

  #hear(line: string): void {
    const { msg = '', what } = JSON.parse(line) as { readonly msg?: string; readonly what?: unknown }
    if (isNodeFault(msg, what)) this.#complaints.push(line)
  }

  get nodes(): readonly TroupeNode[] {
    return this.#nodes
  }

  get tag(): string {
    return tagOf(this.namespace, 0)
  }

  create(kind: string, input: unknown = null, more: Partial<CreateSession> = {}): Promise<Session> {
    return this.client.sessions.create({ kind, input, ...more })
  }

  /** Creates a session and waits for its result. */
  async run(kind: string, input: unknown = null, more: Partial<CreateSession> = {}): Promise<RunResult> {
    return awaitResult(await this.create(kind, input, more))
  }

  async history(workerId: string): Promise<Entry[]> {
    return (await this.client.workers.get(workerId).history()).map(({ entry }) => entry)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop({ force: true })))
    await this.client.close()
    this.redis.disconnect()
    if (this.#complaints.length > 0) throw new Error(`A node of this test says: ${this.#complaints.join('')}`)
  }
}
