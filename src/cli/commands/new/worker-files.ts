/** The files of one worker in a new project. */

/** A worker, with what belongs to it. */
export interface WorkerFiles {
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>
  /** A message that it answers. */
  readonly message: string
  /** What there is to know of its files, for README.md and AGENTS.md. */
  readonly about: readonly string[]
}

/** How the file of a worker says what it is. */
export const definition = 'export default defineWorker'
