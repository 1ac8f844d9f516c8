/**
 * Duty: how far a session is, at a glance. On a terminal a few lines that are drawn again in place; elsewhere a plain line now and
 * then, and none when nothing changed.
 * Events tell a turn only when it is committed, so what runs just now is asked of the node in this process.
 */

import { DrawnLines } from '../terminal/drawn-lines.ts'
import { escapeLine } from '../terminal/escape.ts'
import { canDraw, tell } from '../terminal/output.ts'
import { fitText } from '../terminal/text-width.ts'
import { count } from './count.ts'
import { formatTime } from './duration.ts'
import type { Activity, Roster } from './roster.ts'
import { paintState } from './state-colour.ts'

const drawEveryMs = 100
const tellEveryMs = 2_000
const order: readonly Activity[] = ['running', 'waiting', 'queued', 'done', 'failed', 'cancelled']

export class Progress implements Disposable {
  readonly #stream = process.stderr
  readonly #lines = new DrawnLines(this.#stream)
  #turnsRunning: () => number = () => 0
  #roster: Roster | undefined
  #timer: NodeJS.Timeout | undefined
  #lastLine = ''

  /** Asks this for the turns that run just now. */
  watch(turnsRunning: () => number): void {
    this.#turnsRunning = turnsRunning
  }

  /** Takes note of how things are; what it shows may come a little later. */
  update(roster: Roster): void {
    this.#roster = roster
    this.#timer ??= setTimeout(() => this.#show(), canDraw(this.#stream) ? drawEveryMs : tellEveryMs)
  }

  /** A line of its own, above what is drawn. */
  tell(line: string): void {
    const { areThere } = this.#lines
    this.#lines.wipe()
    tell(line)
    if (areThere && this.#roster) this.#draw(this.#roster)
  }

  /** Shows nothing more; what was drawn is wiped, and one line says how it ended. Safe to call twice. */
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
    const { columns } = this.#lines
    const kinds = roster.kinds()
    const width = Math.min(24, Math.max(...kinds.map((kind) => kind.length)))
    const lines = kinds.map((kind) => {
      const label = fitText(escapeLine(kind), width).padEnd(width)
      return fitText(`  ${label}  ${kindText(roster.counts(kind))}`, columns)
    })
    this.#lines.draw([this.#colour(fitText(this.#totalLine(roster), columns)), ...lines])
  }

  #totalLine(roster: Roster): string {
    return `${count(roster.size, 'worker')}: ${countsText(withRunning(roster.counts(), this.#turnsRunning()))}`
  }

  #tellLine(roster: Roster): void {
    const line = this.#totalLine(roster)
    if (line === this.#lastLine) return
    this.#lastLine = line
    tell(`${formatTime(Date.now())}  ${line}`)
  }

  #colour(line: string): string {
    return line.replace(/\d+ (running|waiting|done|failed|cancelled)/g, (part, state: string) =>
      paintState(part, state, this.#stream),
    )
  }
}

/** `3 running, 10 waiting, 20 queued, 87 done`; what is nobody is left out. */
export function countsText(counts: Readonly<Record<Activity, number>>): string {
  return order
    .filter((activity) => counts[activity] > 0)
    .map((activity) => `${counts[activity]} ${activity}`)
    .join(', ')
}

/** A worker whose turn runs is still among the queued, as far as events tell. */
export function withRunning(counts: Readonly<Record<Activity, number>>, turns: number): Record<Activity, number> {
  const more = Math.max(0, Math.min(turns - counts.running, counts.queued))
  return { ...counts, running: counts.running + more, queued: counts.queued - more }
}

/** `33 to go, 17 done` */
function kindText({ running, waiting, queued, done, failed, cancelled }: Readonly<Record<Activity, number>>): string {
  const parts = [
    [running + waiting + queued, 'to go'],
    [done, 'done'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
  ] as const
  return parts
    .filter(([number]) => number > 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(', ')
}
