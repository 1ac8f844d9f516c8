/**
 * Duty: shows how far a session is. On a terminal a few lines are drawn again in place. Elsewhere a plain line is written now and then,
 * if something changed.
 */

import type { Roster } from '../../client/activity.ts'
import { count } from '../view/amounts.ts'
import { formatTime } from '../view/duration.ts'
import { countsText, withWorking } from '../view/progress-text.ts'
import { DrawnLines } from './drawn-lines.ts'
import { canDraw, tell } from './output.ts'
import { fitText } from './text-width.ts'

const drawEveryMs = 100
const tellEveryMs = 2_000

export class Progress implements Disposable {
  readonly #stream = process.stderr
  readonly #lines = new DrawnLines(this.#stream)
  #turnsRunning: () => number = () => 0
  #roster: Roster | undefined
  #timer: NodeJS.Timeout | undefined
  #lastLine = ''

  /** Sets the source of the number of running turns, which events do not report. */
  watch(turnsRunning: () => number): void {
    this.#turnsRunning = turnsRunning
  }

  /** Shows this roster, perhaps a little later. */
  update(roster: Roster): void {
    this.#roster = roster
    this.#timer ??= setTimeout(() => this.#show(), canDraw(this.#stream) ? drawEveryMs : tellEveryMs)
  }

  /** Writes a line above what is drawn. */
  tell(line: string): void {
    const { areThere } = this.#lines
    this.#lines.wipe()
    tell(line)
    if (areThere && this.#roster) this.#draw(this.#roster)
  }

  /** Wipes what is drawn, and writes one line with the last counts. Safe to call twice. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#lines.wipe()
    if (this.#roster) this.#tellLine(this.#roster)
    this.#roster = undefined
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #show(): void {
    this.#timer = undefined
    if (!this.#roster) return
    if (canDraw(this.#stream)) this.#draw(this.#roster)
    else this.#tellLine(this.#roster)
  }

  #draw(roster: Roster): void {
    this.#lines.draw([fitText(this.#totalLine(roster), this.#lines.columns)])
  }

  #totalLine(roster: Roster): string {
    return `${count(roster.size, 'worker')}: ${countsText(withWorking(roster.counts(), this.#turnsRunning()))}`
  }

  #tellLine(roster: Roster): void {
    const line = this.#totalLine(roster)
    if (line === this.#lastLine) return
    this.#lastLine = line
    tell(`${formatTime(Date.now())}  ${line}`)
  }
}
