/**
 * Duty: keep what a turn knows of a pause: whether its session is paused, and whether the turn is just beginning something that a pause does not stop.
 * Owns no transition: a paused turn drains (turn.ts), and permit.ts says what it may still do.
 */
export class TurnPause {
  #isOn = false
  #beginning = 0
  readonly #turn: { drain(): void }

  constructor(turn: { drain(): void }) {
    this.#turn = turn
  }

  /** Called when the session is paused, or all sessions of its partition. The turn ends with its next step. */
  begin(): void {
    this.#isOn = true
    this.#turn.drain()
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** True if the turn begins nothing more from now on. It is false while the start of a tool call is being recorded and the call has not begun. */
  get isQuiet(): boolean {
    return this.#isOn && this.#beginning === 0
  }

  /** While this work has not resolved, the turn is beginning something that a pause does not stop. */
  async beginning(work: Promise<void>): Promise<void> {
    this.#beginning++
    try {
      await work
    } finally {
      this.#beginning--
    }
  }
}
