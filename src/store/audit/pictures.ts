/**
 * Duty: take pictures of workers and of their session, for the audit. It never writes.
 * PICTURE-1 A picture shows one moment: one script reads records, lanes and the sets that they stand in.
 * PICTURE-2 Histories only grow. So entries that are read later, up to the length in the picture, belong to the moment of the picture. A session keeps
 *     permissions under their digest, so they may be read later, too.
 */
import type { PartitionKeys } from '../keys.ts'
import { readPermissions } from '../record/kept-permissions.ts'
import type { Redis } from '../redis/redis.ts'
import type { ScriptCaller } from '../script/script.ts'
import { lookScript } from '../script/scripts.ts'
import { type Picture, pictureOf, recordsIn, type WorkerPicture } from './audit-picture.ts'

/** heads: the beginnings of mails are read. count: only how many there are. */
export type Mail = 'heads' | 'count'

/** The head of a mail, with ids, call and status, is never longer. */
const headBytes = 80
const budgetBytes = 2_097_152

export class Pictures {
  readonly #redis: Redis
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #deadlineMs: number

  constructor(redis: Redis, caller: ScriptCaller, keys: PartitionKeys, deadlineMs: number) {
    this.#redis = redis
    this.#caller = caller
    this.#keys = keys
    this.#deadlineMs = deadlineMs
  }

  async of(
    sessionId: string | null,
    workerIds: readonly string[],
    pools: readonly string[],
    mail: Mail,
  ): Promise<Picture> {
    const picture = await this.#lookOnce(sessionId, workerIds, pools, mail)
    const workers: WorkerPicture[] = []
    for (const worker of picture.workers)
      workers.push(worker.hasSignals ? worker : await this.#withSignals(worker, pools))
    const missing: Picture['missing'][number][] = []
    for (const worker of picture.missing) {
      const [alone] = worker.isListed === null ? await this.#missing(sessionId, worker.id) : [worker]
      if (alone !== undefined) missing.push(alone)
    }
    return { ...picture, workers, missing }
  }

  /** Whether the session lists this worker, if it has no record. */
  async #missing(sessionId: string | null, workerId: string): Promise<Picture['missing']> {
    return (await this.#lookOnce(sessionId, [workerId], [], 'count')).missing
  }

  /** With the timers and asks of the worker as they are now. */
  async #withSignals(worker: WorkerPicture, pools: readonly string[]): Promise<WorkerPicture> {
    const [later] = (await this.#lookOnce(null, [worker.id], pools, 'count')).workers
    if (later === undefined) return worker
    const { record, lanes, timers, openAsks } = later
    return { ...worker, timers, openAsks, hasSignals: true, signalsAt: { record, lanes } }
  }

  async #lookOnce(
    sessionId: string | null,
    workerIds: readonly string[],
    pools: readonly string[],
    mail: Mail,
  ): Promise<Picture> {
    const { leases, timers, sessions, cancelling, ends } = this.#keys
    const reply = await this.#caller.call(
      lookScript,
      { leases, timers, sessions, cancelling, ends },
      {
        session: sessionId ?? undefined,
        workers: workerIds,
        pools,
        headBytes,
        budget: mail === 'heads' ? budgetBytes : 0,
      },
      { deadlineMs: this.#deadlineMs },
    )
    const records = await readPermissions(this.#redis, this.#keys, recordsIn(reply))
    return pictureOf(reply, records, sessionId, pools)
  }
}
