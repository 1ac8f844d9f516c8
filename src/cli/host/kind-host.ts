/**
 * Duty: somebody who runs the kind: a node that lives already, else one in this process with the worker files that are here.
 * Where there is neither, the command is wrong, and the kinds that exist are named.
 */
import type { Troupe } from '../../client/client.ts'
import type { KindSummary } from '../../client/summaries.ts'
import type { Config } from '../../config.ts'
import { didYouMean } from '../../core/check/closest.ts'
import type { WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError, NotFoundError } from '../../core/errors.ts'
import { safe } from '../terminal/output.ts'
import { loadLocalKinds } from './local-kinds.ts'
import { type LocalNode, startLocalNode } from './local-node.ts'
import { isHosted } from './unhosted-notice.ts'
import { workersFolder } from './workers-folder.ts'

/** How often it is looked whether a node still hosts the kind. */
const lookEveryMs = 3_000

type Tell = (line: string) => void

/** From `start` on somebody hosts the kind, also when the node that did has gone; what was started here goes with this. */
export class KindHost implements AsyncDisposable {
  readonly #kind: string
  readonly #troupe: Troupe
  readonly #config: Config
  readonly #tell: Tell
  #starting: Promise<LocalNode | undefined> | undefined
  #timer: NodeJS.Timeout | undefined
  #isMissed = false
  /** What need not be told again until somebody hosts the kind. */
  readonly #told = new Set<string>()

  constructor(kind: string, troupe: Troupe, config: Config, tell: Tell) {
    this.#kind = kind
    this.#troupe = troupe
    this.#config = config
    this.#tell = tell
  }

  /** Tells whether the kind is hosted here. Throws a NotFoundError where nobody knows the kind, or nobody can run it. */
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
    const kinds = await loadLocalKinds(folder)
    if (!kinds.has(this.#kind)) throw unknownKind(this.#kind, known, { folder, kinds: [...kinds.keys()] })
    await this.#leaveOut(kinds)
    const still = this.#isMissed ? ' any more' : ''
    const where = `running it here, with the worker files of ${safe(folder)}`
    this.#tellOnce(`troupe: no live node hosts ${this.#kind}${still}: ${where}`)
    return startLocalNode(this.#config, kinds, this.#tell)
  }

  /** What this run may never need does not keep it from running. Throws what is wrong with its own kind. */
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
    if (!this.#told.has(line)) this.#tell(line)
    this.#told.add(line)
  }

  #lookAgain(): void {
    this.#timer = setTimeout(() => {
      this.#starting = this.#look()
      void this.#starting.then((node) => {
        if (node === undefined && this.#timer) this.#lookAgain()
      })
    }, lookEveryMs)
  }

  /** Nobody waits in silence: a node runs here, or the person is told once that there is none. */
  async #look(): Promise<LocalNode | undefined> {
    try {
      if (isHosted(this.#kind, await this.#troupe.kinds())) {
        this.#isMissed = false
        this.#told.clear()
      } else if (!this.#isMissed) {
        this.#isMissed = true
        return await this.#host()
      }
    } catch (thrown) {
      // A Redis that was away before is told by who waits for the result.
      if (thrown instanceof NotFoundError || thrown instanceof ConfigError) {
        const here = thrown instanceof ConfigError ? `, and none can run here: ${safe(thrown.message)}` : ''
        this.#tell(`troupe: no live node hosts ${this.#kind} any more; the session waits until one does${here}`)
      } else {
        this.#isMissed = false
        const why = thrown instanceof Error ? thrown.message : String(thrown)
        // Nor where the command has ended meanwhile.
        if (this.#told.size > 0 && this.#timer)
          this.#tellOnce(`troupe: it cannot run here yet, and is tried again: ${safe(why)}`)
      }
    }
    return undefined
  }

  /** Also of a node that was still starting. */
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
    const advice = 'start one with `troupe node`, or leave the work to wait with `troupe submit`'
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
