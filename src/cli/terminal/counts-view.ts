/**
 * Duty: shows how far a session is where nothing is drawn: a line of counts now and then, if something changed.
 */
import type { Roster } from '../../client/event/activity.ts'
import type { RawEvent } from '../../core/event/event.ts'
import { count } from '../../words/amounts.ts'
import { formatTime } from '../../words/duration.ts'
import { countsText } from '../view/progress-text.ts'
import { printJson, tell } from './output.ts'
import type { SessionView } from './session-view.ts'

const tellEveryMs = 2_000

export class CountsView implements SessionView {
  readonly tell = tell
  readonly #json: boolean
  #roster: Roster | undefined
  #timer: NodeJS.Timeout | undefined
  #lastLine = ''

  /** `json`: the events go to stdout as well. */
  constructor(json: boolean) {
    this.#json = json
  }

  watch(): void {}

  showCommit(commit: readonly RawEvent[], roster: Roster): void {
    if (this.#json) for (const event of commit) printJson(event)
    this.#roster = roster
    this.#timer ??= setTimeout(() => this.#show(), tellEveryMs)
  }

  showLive(): void {}

  resume(): void {}

  /** Writes a line with the last counts. Safe to call twice. */
  end(): void {
    this.#show()
    this.#roster = undefined
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #show(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#roster === undefined) return
    const line = `${count(this.#roster.size, 'worker')}: ${countsText(this.#roster.counts())}`
    if (line !== this.#lastLine) tell(`${formatTime(Date.now())}  ${line}`)
    this.#lastLine = line
  }
}
