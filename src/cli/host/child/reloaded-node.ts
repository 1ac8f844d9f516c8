/**
 * Duty: keep a node alive whose code changes. Each version of the code runs in a process of its own, because Node never loads a module twice.
 * RELOAD-1 The next process loads the code and works before the last one drains, so that sessions never wait for a node. A turn ends where it
 *          began. Once the change is reported, no turn begins in the old code.
 * RELOAD-2 If a kind that runs now cannot be loaded or used any more, or no kind is left, everything stays as it is, and the reason is said once.
 * RELOAD-3 A process that dies is replaced; one that dies again and again, less and less often.
 * RELOAD-4 A change during a load begins that load anew.
 */
import { ChildFailedError, ChildNode, endText } from './child-node.ts'
import type { KindProblem, Loaded, NodeSettings } from './messages.ts'
import type { SourceWatch } from './source-watch.ts'

/** How long turns of the last version may go on after the next one works. */
const drainMs = 30_000
/** How long they may go on when all ends. */
export const lastDrainMs = 2_000
const restartMsMin = 500
const restartMsMax = 30_000
/** A process that has lived for this long did not die of its start. */
const healthyMs = 30_000

/** What happened to the node. */
export type NodeChange =
  /** `began`: the code works, for the first time or after `files` changed. `died`: the process ended, and another one comes. */
  | { readonly type: 'began'; readonly nodeId: string; readonly loaded: Loaded; readonly files: readonly string[] }
  | { readonly type: 'kept'; readonly problems: readonly KindProblem[] }
  | { readonly type: 'none'; readonly reason: string }
  | { readonly type: 'died'; readonly how: string; readonly againMs: number }

export interface NodeWatcher {
  readonly onChange: (change: NodeChange) => void
  readonly onLog: ConstructorParameters<typeof ChildNode>[1]['onLog']
  readonly onOutput: (line: string) => void
}

interface Running {
  readonly child: ChildNode
  readonly loaded: Loaded
  readonly nodeId: string
  readonly since: number
}

type NewChild = (envFile: string, watcher: NodeWatcher) => ChildNode

const newChildNode: NewChild = (envFile, watcher) => new ChildNode(envFile, watcher)

export class ReloadedNode {
  readonly #settings: NodeSettings
  readonly #envFile: string
  readonly #watcher: NodeWatcher
  readonly #newChild: NewChild
  readonly #children = new Set<ChildNode>()
  #watch: SourceWatch | undefined
  #running: Running | undefined
  #loading: ChildNode | undefined
  #turn: Promise<void> = Promise.resolve()
  #version = 0
  #deaths = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #said = ''

  /** `newChild`: starts the process of one version; tests give another. */
  constructor(settings: NodeSettings, envFile: string, watcher: NodeWatcher, newChild: NewChild = newChildNode) {
    this.#settings = settings
    this.#envFile = envFile
    this.#watcher = watcher
    this.#newChild = newChild
  }

  /** The id of the node that works now. */
  get nodeId(): string | undefined {
    return this.#running?.nodeId
  }

  /** The kinds that work now. */
  get kinds(): Loaded['kinds'] {
    return this.#running?.loaded.kinds ?? []
  }

  /** The kinds of the folder that do not work now, and why. */
  get problems(): Loaded['problems'] {
    return this.#running?.loaded.problems ?? []
  }

  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** Loads the present code, and works with it. `files`: the files that changed. */
  reload(files: readonly string[] = []): Promise<void> {
    this.#version++
    void this.#loading?.kill()
    const version = this.#version
    this.#turn = this.#turn.then(() =>
      version === this.#version && !this.#isOver ? this.#load(files, version) : undefined,
    )
    return this.#turn
  }

  /** From now on each change of a file that the node has loaded reloads it. */
  watch(watch: SourceWatch): void {
    this.#watch = watch
    if (this.#running) watch.add(this.#running.loaded.sources)
  }

  /** Kills the process that works now, as a power cut would, and begins again at once. Resolves when the next process works. */
  async kill(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    await running.child.kill()
    await this.reload()
  }

  /** What turns still do when this ends is taken up at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await Promise.all([...this.#children].map((child) => child.stop(lastDrainMs)))
    await this.#turn
  }

  async #load(files: readonly string[], version: number): Promise<void> {
    const child = this.#child()
    this.#loading = child
    const isStale = () => version !== this.#version || this.#isOver
    try {
      const loaded = await child.load(this.#settings)
      this.#watch?.add(loaded.sources)
      if (isStale() || !this.#isFit(loaded)) return await child.stop(0)
      // From now on it may have turns: it is not killed any more.
      this.#loading = undefined
      const nodeId = await child.start()
      const last = this.#running
      this.#running = { child, loaded, nodeId, since: performance.now() }
      this.#said = ''
      if (last) {
        void last.child.stop(drainMs)
        await last.child.drains
      }
      this.#watcher.onChange({ type: 'began', nodeId, loaded, files })
    } catch (thrown) {
      await child.stop(0)
      if (!isStale()) this.#sayFailed(thrown)
    } finally {
      this.#loading = undefined
    }
  }

  /** True if the new code can take over (RELOAD-2). */
  #isFit({ kinds, problems }: Loaded): boolean {
    const working = new Set(this.kinds.map(({ kind }) => kind))
    const lost = problems.filter(({ kind }) => working.has(kind))
    if (lost.length > 0) this.#sayOnce({ type: 'kept', problems: lost })
    else if (kinds.length > 0) return true
    else {
      const why = problems.map(({ message }) => message).join(' ')
      this.#sayUnusable(why || `there is no worker file in ${this.#settings.workers}.`)
    }
    return false
  }

  #sayFailed(thrown: unknown): void {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    const code = thrown instanceof ChildFailedError ? thrown.code : ''
    this.#sayUnusable(reason)
    // If the code is wrong, only a change of a file can help; Redis may come back by itself.
    if (this.#running ? code.startsWith('store_') : code !== 'config_invalid') this.#again()
  }

  /** The code that ran before goes on. */
  #sayUnusable(reason: string): void {
    if (this.#running) this.#sayOnce({ type: 'kept', problems: [{ kind: '', message: reason, at: 'load' }] })
    else this.#sayOnce({ type: 'none', reason })
  }

  #sayOnce(change: NodeChange): void {
    const said = JSON.stringify(change)
    if (said !== this.#said) this.#watcher.onChange(change)
    this.#said = said
  }

  #child(): ChildNode {
    const child = this.#newChild(this.#envFile, this.#watcher)
    this.#children.add(child)
    void child.ended.then(({ code, signal }) => {
      this.#children.delete(child)
      if (this.#running?.child !== child) return
      const { since } = this.#running
      this.#running = undefined
      if (performance.now() - since > healthyMs) this.#deaths = 0
      if (!child.isExpectedToEnd && !this.#isOver)
        this.#watcher.onChange({ type: 'died', how: endText(code, signal), againMs: this.#again() })
    })
    return child
  }

  /** Returns after how many ms the next process is started (RELOAD-3). */
  #again(): number {
    const ms = Math.min(restartMsMax, restartMsMin * 2 ** this.#deaths)
    this.#deaths++
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.reload(), ms)
    return ms
  }
}
