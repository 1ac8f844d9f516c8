/** Duty: how far a matrix has come, and what it says of that on a terminal when its scenario has no `onProgress`. */

export interface Progress {
  /** Runs done, and runs there will be. */
  readonly done: number
  readonly total: number
  /** The point that was just tried; null for the run without a crash. */
  readonly point: string | null
  /** Violations so far. */
  readonly violations: number
}

interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** A line for each run that is done. Where no person looks on, nothing: the report says it all. */
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
