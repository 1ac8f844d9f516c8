/**
 * Nodes as processes of their own, and the verbs of fault tests: start, stop, kill, freeze, thaw, cut, killRedis, restartRedis. All in
 * one namespace, with a client to submit and wait with, and a ledger of what the handlers really did. Nothing is left running when it
 * is disposed of. It works in a test of vitest and outside, where a Redis and a name must be given.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { inject } from 'vitest'
import { connectInternal, type InternalConnectOptions, type Troupe } from '../../../src/client/client.ts'
import type { Entry } from '../../../src/core/history/entry.ts'
import type { Policy } from '../../../src/core/policy.ts'
import { tagOf } from '../../../src/store/keys.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import type { NodeNews, NodeOrder } from '../../programs/node/node-order.ts'
import { newNamespace } from '../namespace.ts'
import { sharedEnv } from '../package/shared-env.ts'
import { RedisServer, type RedisServerOptions } from '../redis/redis-server.ts'
import { TcpProxy } from '../redis/tcp-proxy.ts'
import { shortLeases } from '../test-policy.ts'
import { Ledger } from './ledger.ts'

export interface HarnessOptions {
  /** Default: the Redis of the test run. */
  readonly redisUrl?: string
  /** How the test itself reaches Redis, when its nodes go another way. */
  readonly clientRedisUrl?: string
  readonly client?: Partial<InternalConnectOptions>
  /** The name of the namespace; default: the file of the test. */
  readonly name?: string
  /** A Redis of its own, to be killed and restarted. */
  readonly ownRedis?: RedisServerOptions
}

export interface NodeSettings {
  readonly redisUrl?: string
  readonly concurrency?: number
  readonly policy?: Partial<Policy>
  /** What to start; default: programs/node/node.ts. */
  readonly program?: URL
  readonly providerUrl?: string
  /** `<point>:<nth>`: the process dies when it passes this point for the nth time (harm/crash-points.ts). */
  readonly crashAt?: string
  /** Before every ending commit a message is posted to the worker, up to this number of each (programs/node/node.ts). */
  readonly lateMessages?: number
  /** True: it hosts another release of its kinds (programs/node/chance-node.ts). */
  readonly isRelease?: boolean
  /** The path of the node to Redis goes through this proxy. */
  readonly proxy?: TcpProxy
  /** A module that the process loads first. */
  readonly preload?: Preload
}

interface Preload {
  readonly program: URL
  /** The environment that this module reads. */
  readonly env?: Readonly<Record<string, string>>
}

const crashHook = new URL('../../programs/preload/crash-hook.ts', import.meta.url)
const nodeProgram = new URL('../../programs/node/node.ts', import.meta.url)
/** A node that starts takes a third of a second of its core: with ten others and eight busy programs on two cores that was a minute. */
const startMsMax = 180_000
/** A storm on a busy machine reads in it which turns were lost. */
const outputMax = 2_000_000

export class Harness implements AsyncDisposable {
  readonly namespace: string
  readonly client: Troupe
  readonly redis: Redis
  readonly ledger = new Ledger()
  readonly redisUrl: string
  readonly #nodes = new Set<NodeProcess>()

  readonly #server: RedisServer | undefined
  readonly #proxies: TcpProxy[] = []

  private constructor(
    redisUrl: string,
    clientRedisUrl: string,
    namespace: string,
    client: Troupe,
    server?: RedisServer,
  ) {
    this.redisUrl = redisUrl
    this.#server = server
    this.namespace = namespace
    this.client = client
    this.redis = openRedis(clientRedisUrl)
  }

  static async open(options: HarnessOptions = {}): Promise<Harness> {
    const server = options.ownRedis ? await RedisServer.start(options.ownRedis) : undefined
    const redisUrl = server?.url ?? options.redisUrl ?? inject('redisUrl')
    const clientRedisUrl = options.clientRedisUrl ?? redisUrl
    const namespace = newNamespace(options.name)
    const client = await connectInternal({ deadlineMs: 30_000, ...options.client, redisUrl: clientRedisUrl, namespace })
    return new Harness(redisUrl, clientRedisUrl, namespace, client, server)
  }

  get tag(): string {
    return tagOf(this.namespace, 0)
  }

  /** Starts a node and returns when it takes work. */
  async start(name: string, settings: NodeSettings = {}): Promise<NodeProcess> {
    const order: NodeOrder = {
      name,
      redisUrl: settings.redisUrl ?? settings.proxy?.url ?? this.redisUrl,
      namespace: this.namespace,
      ledger: this.ledger.file,
      concurrency: settings.concurrency ?? 10,
      policy: { ...shortLeases, ...settings.policy },
      providerUrl: settings.providerUrl,
      lateMessages: settings.lateMessages,
      isRelease: settings.isRelease,
    }
    const until = performance.now() + startMsMax
    for (;;) {
      const node = new NodeProcess(order, settings)
      this.#nodes.add(node)
      try {
        await node.ready
        return node
      } catch (error) {
        // No call of a node waits for longer than a lease, which lasts for a second here: a machine that holds Redis up for so long ends a node that
        // starts. Whoever runs nodes starts them again.
        const isLate = node.isGone && (await node.lastOutput).includes('no answer within')
        if (!isLate || performance.now() > until) throw error
      }
    }
  }

  /** A network of its own between nodes and Redis, to be disturbed. */
  async proxy(): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(this.redisUrl)
    this.#proxies.push(proxy)
    return proxy
  }

  get server(): RedisServer {
    if (!this.#server) throw new Error('This harness has no Redis of its own: open it with ownRedis.')
    return this.#server
  }

  killRedis(): Promise<void> {
    return this.server.kill()
  }

  restartRedis(): Promise<void> {
    return this.server.restart()
  }

  /** Returns the whole history, however long it is: one call gives no more than a page. */
  async history(workerId: string): Promise<Entry[]> {
    const worker = this.client.workers.get(workerId)
    const entries: Entry[] = []
    let after = -1
    for (;;) {
      const page = await worker.history({ after })
      const last = page.at(-1)
      if (last === undefined) return entries
      entries.push(...page.map(({ entry }) => entry))
      after = last.position
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#nodes].map((node) => node.kill()))
    await this.client.close()
    this.redis.disconnect()
    await Promise.all(this.#proxies.map((proxy) => proxy[Symbol.asyncDispose]()))
    await this.#server?.[Symbol.asyncDispose]()
    this.ledger[Symbol.dispose]()
  }
}

/** One node process. */
export class NodeProcess {
  readonly name: string
  /** Resolves with the node's id; rejects when the process ends before. */
  readonly ready: Promise<string>
  /** Resolves with the exit code, or the signal that ended it. */
  readonly gone: Promise<number | NodeJS.Signals>
  /** Resolves with all that it logged when it has ended; some of it may be unread when it is gone. */
  readonly lastOutput: Promise<string>
  readonly #child: ChildProcess
  #output = ''
  #draining = 0

  constructor(order: NodeOrder, settings: Pick<NodeSettings, 'program' | 'crashAt' | 'preload'> = {}) {
    const { program = nodeProgram, crashAt, preload } = settings
    const first = [...(crashAt ? [crashHook] : []), ...(preload ? [preload.program] : [])]
    this.name = order.name
    this.#child = fork(program, [JSON.stringify(order)], {
      execArgv: ['--conditions=troupe-source', ...first.flatMap(({ href }) => ['--import', href])],
      env: {
        PATH: process.env.PATH,
        ...sharedEnv(),
        ...(crashAt ? { TROUPE_CRASH_AT: crashAt } : {}),
        ...preload?.env,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-outputMax)
    })
    this.gone = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(signal ?? code ?? 0))
    })
    this.lastOutput = new Promise((resolve) => {
      this.#child.once('close', () => resolve(this.#output))
    })
    this.ready = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#error(`did not start within ${startMsMax} ms`)), startMsMax)
      this.#child.on('message', (news: NodeNews) => {
        if ('draining' in news) this.#draining++
        else {
          clearTimeout(timer)
          resolve(news.ready)
        }
      })
      void this.gone.then((how) => {
        clearTimeout(timer)
        reject(this.#error(`ended with ${how}`))
      })
    })
    this.ready.catch(() => {})
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** The text that the process logged. */
  get output(): string {
    return this.#output
  }

  /** How many of our SIGTERMs it has taken notice of. */
  get drainsSeen(): number {
    return this.#draining
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isGone) process.kill(this.pid, signal)
  }

  /** SIGTERM: it drains; resolves when it has ended. */
  stop(): Promise<number | NodeJS.Signals> {
    this.signal('SIGTERM')
    return this.gone
  }

  /** Sends SIGKILL; resolves when the process has ended. Safe to call twice. */
  kill(): Promise<number | NodeJS.Signals> {
    this.signal('SIGKILL')
    return this.gone
  }

  freeze(): void {
    this.signal('SIGSTOP')
  }

  thaw(): void {
    this.signal('SIGCONT')
  }

  #error(what: string): Error {
    return new Error(`Node ${this.name} ${what}. It logged:\n${this.#output.slice(-20_000)}`)
  }
}
