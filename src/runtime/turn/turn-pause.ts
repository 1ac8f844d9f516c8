/**
 * Duty: what a turn knows of a pause: whether its session is paused, and whether it is just beginning what a pause does not stop.
 * Owns no transition: a paused turn drains (turn.ts), and permit.ts says what it may still do.
 */
export class TurnPause {
  #isOn = false
  #beginning = 0
  readonly #turn: { drain(): void }

  constructor(turn: { drain(): void }) {
    this.#turn = turn
  }

  /** The session is paused, or all sessions of its partition. The turn ends with its next step. */
  begin(): void {
    this.#isOn = true
    this.#turn.drain()
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** From now on the turn begins nothing more. Not yet, while the start of a tool call is recorded and the call has not begun. */
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
