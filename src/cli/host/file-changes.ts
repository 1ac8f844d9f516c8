/**
 * Duty: say that a file is another one than it was, by its time, its size and its place on the disk. `fs.watchFile` begins with how it finds the file, so
 * that a change between a first read and the watch would never be told.
 * CHANGES-1 A change since `FileChanges.since` is told, also one that came before `tell`. A caller that reads the file after `since` misses none.
 */
import { stat } from 'node:fs/promises'

const lookEveryMs = 500

export class FileChanges implements Disposable {
  readonly #file: string
  #last: string
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  private constructor(file: string, last: string) {
    this.#file = file
    this.#last = last
  }

  static async since(file: string): Promise<FileChanges> {
    return new FileChanges(file, await stateOf(file))
  }

  /** Calls this after each change, until it is disposed of. Keeps no process alive. */
  tell(onChange: () => void): void {
    const look = async () => {
      const now = await stateOf(this.#file)
      if (this.#isOver) return
      if (now !== this.#last) onChange()
      this.#last = now
      this.#timer = setTimeout(() => void look(), lookEveryMs).unref()
    }
    void look()
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}

/** A file that is not there, or cannot be looked at, has the code of that error as its state. */
async function stateOf(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
