/**
 * Duty: what all routes of one server share: its clients, its settings, and what it remembers.
 * SERVER-1 Reading goes through one client. A call that changes something goes through a client of the caller's name, so that events say who made it.
 */
import { connectInternal, Troupe } from '../client/client.ts'
import type { ConnectOptions } from '../client/connect-options.ts'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import { ConflictError } from '../core/errors.ts'
import { type LoggerLike, toWorkerLog } from '../log.ts'
import { Answers } from './answers.ts'
import { Audits } from './audits.ts'
import { Tickets } from './guard/tickets.ts'
import { Streams } from './stream/streams.ts'

export interface ServerSettings {
  readonly redisUrl?: string | undefined
  readonly namespace?: string | undefined
  readonly partitions?: number | undefined
  readonly webhooks?: ConnectOptions['webhooks']
  readonly logger?: LoggerLike | undefined
  /** True if the server changes nothing; its Redis user then needs no right to write. */
  readonly isReadOnly: boolean
}

/** How long a call may take while Redis is away: no caller should wait longer for a 503. */
const deadlineMs = 5_000

export class Server implements AsyncDisposable {
  readonly settings: ServerSettings
  readonly tickets = new Tickets()
  readonly answers = new Answers()
  /** The OpenAPI document of its routes. */
  document: object = {}
  readonly audits = new Audits()
  readonly streams = new Streams()
  readonly log: WorkerLog
  readonly #acting = new Map<string, Promise<Troupe>>()
  #reading: Promise<Troupe> | undefined
  /** Aborted when the server stops: streams and waiting calls end. */
  readonly #stopping = new AbortController()

  constructor(settings: ServerSettings) {
    this.settings = settings
    this.log = toWorkerLog(settings.logger)
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  get isReadOnly(): boolean {
    return this.settings.isReadOnly
  }

  reading(): Promise<Troupe> {
    this.#reading ??= this.#open(undefined, () => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** The client in the name of this caller. */
  acting(name: string): Promise<Troupe> {
    let client = this.#acting.get(name)
    if (client === undefined) {
      client = this.#open(name, () => this.#acting.delete(name))
      this.#acting.set(name, client)
    }
    return client
  }

  /** A partition that is not known may be new. */
  async lookForPartitions(): Promise<void> {
    const clients = [...this.#acting.values(), ...(this.#reading ? [this.#reading] : [])]
    await Promise.all(clients.map(async (client) => Troupe.lookForPartitions(await client)))
  }

  /** Closes the clients of all other callers. */
  keepActing(names: ReadonlySet<string>): void {
    for (const [name, client] of this.#acting) {
      if (names.has(name)) continue
      this.#acting.delete(name)
      closed(client).catch((error: unknown) =>
        this.log.warn('the client of a caller could not be closed', { caller: name, error: String(error) }),
      )
    }
  }

  // If a client could not be opened, the next call opens it anew.
  #open(actor: string | undefined, onFailure: () => void): Promise<Troupe> {
    const { redisUrl, namespace, partitions, webhooks, logger, isReadOnly } = this.settings
    const purpose = isReadOnly ? 'look' : 'create'
    const client = connectInternal({ redisUrl, namespace, partitions, webhooks, logger, actor, purpose, deadlineMs })
    client.catch(onFailure)
    return client
  }

  /** Ends streams and calls that wait. Connections that are idle stay until `close`. */
  stop(): void {
    this.#stopping.abort(new ConflictError('client_closed', 'this server stops: send the request once more.'))
  }

  async close(): Promise<void> {
    this.stop()
    const clients = [...this.#acting.values(), ...(this.#reading ? [this.#reading] : [])]
    await Promise.all(clients.map(closed))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function closed(client: Promise<Troupe>): Promise<void> {
  await (await client.catch(() => undefined))?.close()
}
