/** Duty: report the progress of a matrix, on the terminal if the scenario has no `onProgress`. */

export interface Progress {
  /** How many runs are done, and how many there will be. */
  readonly done: number
  readonly total: number
  /** The point of the last run. Null for the run without a crash. */
  readonly point: string | null
  /** Violations so far. */
  readonly violations: number
}

interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Prints a line for each finished run. Prints nothing if stderr is not a terminal, because the report says everything. */
export function progressTo(output: Output): (progress: Progress) => void {
  return (progress) => {
    if (output.isTTY) output.write(`${lineOf(progress)}\n`)
  }
}

function lineOf({ done, total, point, violations }: Progress): string {
  const what = point === null ? 'a run without a crash' : `killed ${point}`
  const found = violations === 0 ? '' : `; ${violations} ${violations === 1 ? 'violation' : 'violations'} so far`
  return `crash matrix: run ${done} of ${total}, ${what}${found}`
}
