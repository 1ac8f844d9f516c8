/**
 * Duty: makes sure that some node hosts the kind: a live node, else one in this process with the local worker files.
 * If neither is possible, the command is wrong, and the error names the kinds that exist.
 */
import type { Troupe } from '../../client/client.ts'
import type { KindSummary } from '../../client/summaries.ts'
import type { Config } from '../../config.ts'
import { didYouMean } from '../../core/check/closest.ts'
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError, NotFoundError } from '../../core/errors.ts'
import { safe } from '../terminal/output.ts'
import { type CommandOutput, type LocalNode, startLocalNode } from './local-node.ts'
import { isHosted } from './unhosted-notice.ts'
import { readLocalKinds, workersFolder } from './worker-files.ts'

/** How often it checks that a node still hosts the kind. */
const lookEveryMs = 3_000

/** From `start` on some node hosts the kind, also after the node that did so has gone. Disposing of it stops the node in this process. */
export class KindHost implements AsyncDisposable {
  readonly #kind: string
  readonly #troupe: Troupe
  readonly #config: Config
  readonly #output: CommandOutput
  #starting: Promise<LocalNode | undefined> | undefined
  #timer: NodeJS.Timeout | undefined
  /** No node hosts the kind any more, and the person knows. */
  #isMissed = false
  /** Lines that are not written again until a node hosts the kind. */
  readonly #written = new Set<string>()

  constructor(kind: string, troupe: Troupe, config: Config, output: CommandOutput) {
    this.#kind = kind
    this.#troupe = troupe
    this.#config = config
    this.#output = output
  }

  /** Returns whether this process hosts the kind. Throws a NotFoundError if the kind is unknown, or if no node can run it. */
  async start(): Promise<boolean> {
    this.#starting = this.#host()
    const isHere = (await this.#starting) !== undefined
    if (!isHere) this.#lookAgain()
    return isHere
  }

  async #host(): Promise<LocalNode | undefined> {
    const known = await this.#troupe.kinds()
    if (isHosted(this.#kind, known)) return undefined
    const folder = await workersFolder(this.#config)
    if (folder === undefined) throw unknownKind(this.#kind, known, undefined)
    const { kinds, broken } = await readLocalKinds(folder, (line) => this.#tellOnce(line))
    const own = broken.get(this.#kind)
    if (own) throw own
    for (const { message } of broken.values()) this.#tellOnce(`troupe: not hosted here: ${safe(message)}`)
    if (!kinds.has(this.#kind)) throw unknownKind(this.#kind, known, { folder, kinds: [...kinds.keys()] })
    await this.#leaveOut(kinds)
    const still = this.#isMissed ? ' any more' : ''
    const here = `this process runs it, with the worker files of ${safe(folder)}`
    this.#tellOnce(`troupe: no live node hosts ${this.#kind}${still}: ${here}`)
    return startLocalNode(this.#config, kinds, this.#output)
  }

  /** Leaves out kinds that cannot be used, because this run may never need them. Throws if its own kind is one of them. */
  async #leaveOut(kinds: Map<string, WorkerDefinition>): Promise<void> {
    const { unusableKinds } = await import('../../compose.ts')
    const unusable = await unusableKinds(kinds, this.#config.modelSettings)
    const own = unusable.get(this.#kind)
    if (own) throw own
    for (const [kind, { message }] of unusable) {
      kinds.delete(kind)
      this.#tellOnce(`troupe: not hosted here: ${safe(message)}`)
    }
  }

  #tellOnce(line: string): void {
    if (!this.#written.has(line)) this.#output.tell(line)
    this.#written.add(line)
  }

  #lookAgain(): void {
    this.#timer = setTimeout(() => {
      this.#starting = this.#look()
      void this.#starting.then((node) => {
        if (node === undefined && this.#timer) this.#lookAgain()
      })
    }, lookEveryMs)
  }

  /** Starts a node in this process if no live node hosts the kind any more, or says once that none can run. */
  async #look(): Promise<LocalNode | undefined> {
    try {
      if (isHosted(this.#kind, await this.#troupe.kinds())) {
        this.#isMissed = false
        this.#written.clear()
      } else if (!this.#isMissed) {
        this.#isMissed = true
        return await this.#host()
      }
    } catch (thrown) {
      // The wait for the result reports that Redis is away.
      if (thrown instanceof NotFoundError || thrown instanceof ConfigError) {
        const here = thrown instanceof ConfigError ? `, and none can run here: ${safe(thrown.message)}` : ''
        this.#output.tell(`troupe: no live node hosts ${this.#kind} any more; the session waits until one does${here}`)
      } else {
        this.#isMissed = false
        const why = thrown instanceof Error ? thrown.message : String(thrown)
        // Without a timer the command has ended.
        if (this.#written.size > 0 && this.#timer)
          this.#tellOnce(`troupe: this process cannot run it yet, and tries again: ${safe(why)}`)
      }
    }
    return undefined
  }

  /** Stops the node of this process, also if it is still starting. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const node = await this.#starting?.catch(() => undefined)
    await node?.[Symbol.asyncDispose]()
  }
}

interface LocalKinds {
  readonly folder: string
  readonly kinds: readonly string[]
}

function unknownKind(kind: string, known: readonly KindSummary[], local: LocalKinds | undefined): NotFoundError {
  if (known.some((summary) => summary.kind === kind)) {
    const advice = 'start one with `troupe node`, or submit the work for later with `troupe submit`'
    return new NotFoundError(
      'kind_unknown',
      `no live node hosts "${kind}", and its worker file is not here: ${advice}.`,
    )
  }
  const hosted = known.filter((summary) => summary.hosted).map((summary) => summary.kind)
  const kinds = [...new Set([...hosted, ...(local?.kinds ?? [])])].sort()
  const here = local ? `${local.folder} holds no worker file` : 'there is no folder of worker files here'
  const list = kinds.length === 0 ? `no node is live, and ${here}` : `there are: ${kinds.join(', ')}`
  return new NotFoundError('kind_unknown', `there is no kind "${kind}"; ${list}.${didYouMean(kind, kinds)}`)
}
