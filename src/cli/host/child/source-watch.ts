/** Duty: say when a worker file, or a file that one imports, has changed. Several changes at about the same time count as one. */
import { basename, resolve } from 'node:path'
import type { FSWatcher } from 'chokidar'

/** An editor that saves a file writes it in several steps, and people save several files at once. */
const settleMs = 120

/** Files that programs write beside those of people. */
const passing = /^\.(?!env$)|~$|\.(swp|swx|tmp|log)$|^4913$/

export class SourceWatch implements AsyncDisposable {
  readonly #watcher: FSWatcher
  readonly #onChange: (files: readonly string[]) => void
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  private constructor(
    watcher: FSWatcher,
    onChange: (files: readonly string[]) => void,
    onError: (error: unknown) => void,
  ) {
    this.#watcher = watcher
    this.#onChange = onChange
    watcher.on('all', (_, file) => this.#note(file))
    watcher.on('error', onError)
  }

  /**
   * Watches folders and files, also those that do not exist yet. Resolves when it sees each later change. `onError`: some changes are not seen, because
   * the system does not let it watch.
   */
  static async open(
    paths: readonly string[],
    onChange: (files: readonly string[]) => void,
    onError: (error: unknown) => void,
  ): Promise<SourceWatch> {
    const { watch } = await import('chokidar')
    // Whoever names a path wants it watched, whatever its name.
    const named = new Set(paths.map((path) => resolve(path)))
    const ignored = (path: string) =>
      (basename(path) === 'node_modules' || passing.test(basename(path))) && !named.has(resolve(path))
    const watcher = watch([...paths], { ignoreInitial: true, ignored })
    const ready = new Promise<void>((resolve) => watcher.once('ready', resolve))
    const sourceWatch = new SourceWatch(watcher, onChange, onError)
    await ready
    return sourceWatch
  }

  /** Watches these files too. */
  add(files: readonly string[]): void {
    this.#watcher.add([...files])
  }

  #note(file: string): void {
    this.#changed.add(file)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const files = [...this.#changed]
      this.#changed.clear()
      this.#onChange(files)
    }, settleMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#watcher.close()
  }
}
