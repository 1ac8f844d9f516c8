/** Duty: the report of a matrix, and the error that lists its violations. */

export interface Violation {
  /** The point at which the node was killed, or "no crash". */
  readonly point: string
  readonly what: string
}

export interface CrashReport {
  /** The points at which a node was killed, in the order in which the scenario passes them. */
  readonly points: readonly string[]
  /** How often the scenario was run, including the run without a crash. */
  readonly runs: number
  readonly violations: readonly Violation[]
  /** Points that no further run passed, because the clock decides whether they happen. */
  readonly missed: readonly string[]
  /** Points that were left out because there are more than `pointsMax`. */
  readonly leftOut: number
}

const linesMost = 20

export class CrashMatrixError extends Error {
  override readonly name = 'CrashMatrixError'
  // Private, so that printing the error does not print the whole report again.
  readonly #report: CrashReport

  constructor(report: CrashReport) {
    super(messageOf(report))
    this.#report = report
  }

  get report(): CrashReport {
    return this.#report
  }
}

function messageOf({ points, violations }: CrashReport): string {
  const lines = violations
    .slice(0, linesMost)
    .map(({ point, what }) => `  ${point}: ${what.trim().replaceAll(/\n+/g, '\n    ')}`)
  const more = violations.length > linesMost ? [`  … and ${violations.length - linesMost} more`] : []
  const places = new Set(violations.map(({ point }) => point)).size
  const head =
    points.length === 0
      ? 'The scenario fails without a crash:'
      : `The scenario does not survive a kill -9 at ${places} of ${points.length} points:`
  return [head, ...lines, ...more].join('\n')
}
