/**
 * Duty: show the histories of a session beside what its view shows: the entries that there are, then each new one.
 * Owns: how far each history has been shown. Does not own: events (follow.ts), the words of an entry (entry-line.ts).
 * HISTORIES-1 Histories are read after the events that tell of them, one at a time. So the entries of a worker come in their order, each once,
 *             and those of different workers about as they were written.
 */

import type { Troupe } from '../../../../client/client.ts'
import type { Roster } from '../../../../client/event/activity.ts'
import { TransientError } from '../../../../core/errors.ts'
import type { RawEvent } from '../../../../core/event/event.ts'
import { entryLine } from '../../../../words/lines/entry-line.ts'
import { escapeLine } from '../../../../words/text/escape.ts'
import { toComplaint } from '../../../exit-code.ts'
import { printJson, safe } from '../../../terminal/output.ts'
import type { SessionView } from '../../../terminal/session-view.ts'

const pageSize = 500

export class FollowedHistories {
  readonly #troupe: Troupe
  readonly #sessionId: string
  readonly #view: SessionView
  readonly #isJson: boolean
  /** The position of the last entry that was shown, by worker. */
  readonly #shownTo = new Map<string, number>()
  /** Workers whose history cannot be read. Each is named once. */
  readonly #broken = new Set<string>()
  #labelOf: Roster['labelOf'] = () => undefined
  #reading: Promise<void> = Promise.resolve()

  constructor(troupe: Troupe, sessionId: string, view: SessionView, isJson: boolean) {
    this.#troupe = troupe
    this.#sessionId = sessionId
    this.#view = view
    this.#isJson = isJson
  }

  /** The view, together with the histories. */
  get view(): SessionView {
    const view = this.#view
    return {
      tell: (line) => view.tell(line),
      watch: (workerId, printed) => view.watch(workerId, printed),
      showCommit: (commit, roster) => {
        view.showCommit(commit, roster)
        this.#note(commit, roster)
      },
      showLive: (event, roster) => view.showLive(event, roster),
      ...(view.fill && { fill: (...read: Parameters<NonNullable<SessionView['fill']>>) => view.fill?.(...read) }),
      resume: () => view.resume(),
      end: () => view.end(),
      [Symbol.dispose]: () => view[Symbol.dispose](),
    }
  }

  /** Shows what is left of all histories. */
  async finish(): Promise<void> {
    this.#readSoon(this.#shownTo.keys())
    await this.#reading
  }

  #note(commit: readonly RawEvent[], roster: Roster): void {
    this.#labelOf = (id) => roster.labelOf(id)
    const ids = new Set(commit.map(({ workerId }) => workerId))
    for (const id of ids) if (!this.#shownTo.has(id)) this.#shownTo.set(id, -1)
    this.#readSoon(ids)
  }

  #readSoon(ids: Iterable<string>): void {
    for (const id of ids) this.#reading = this.#reading.then(() => this.#read(id))
  }

  async #read(workerId: string): Promise<void> {
    const worker = this.#troupe.workers.get(workerId)
    try {
      for (let more = !this.#broken.has(workerId); more; ) {
        const page = await worker.history({ after: this.#shownTo.get(workerId), limit: pageSize })
        for (const { position, entry } of page) {
          this.#shownTo.set(workerId, position)
          if (this.#isJson) printJson({ type: 'history.entry', sessionId: this.#sessionId, workerId, position, entry })
          else this.#view.tell(`${escapeLine(this.#labelOf(workerId) ?? workerId)}  ${entryLine(position, entry)}`)
        }
        more = page.length === pageSize
      }
    } catch (thrown) {
      // While Redis is away nothing is known of the history: the next event has it read from where it was.
      if (!(thrown instanceof TransientError)) this.#broken.add(workerId)
      this.#view.tell(`troupe: the history of worker ${workerId} cannot be shown: ${safe(toComplaint(thrown).message)}`)
    }
  }
}
