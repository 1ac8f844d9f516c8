/** The files of one worker in a new project. */

/** A worker, with what belongs to it. */
export interface WorkerFiles {
  /** The text of each file, by its path. */
  readonly files: Readonly<Record<string, string>>
  /** A message that the worker answers. */
  readonly message: string
  /** What README.md and AGENTS.md say of its files. */
  readonly about: readonly string[]
}

/** How the file of a worker says what it is. */
export const definition = 'export default defineWorker'
