/**
 * Duty: the progress of tools as lines for people, where nothing is drawn: `12:00:01  reader docs  read_file: 40 %`.
 * TOOLLINES-1 For each call, at most one line in two seconds is written, however often it reports.
 */
import type { Roster } from '../../../client/event/activity.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { formatTime } from '../../../words/duration.ts'
import { stringOr, valueLine } from '../../../words/lines/message-line.ts'
import { escapeLine } from '../../../words/text/escape.ts'

const everyMs = 2_000
/** The most calls whose last line is remembered. */
const callsMax = 1_000

export class ToolLines {
  readonly #writtenAt = new Map<string, number>()

  of({ type, workerId, at, details }: RawEvent, roster: Roster): string[] {
    if (type !== 'tool.progress') return []
    const call = `${workerId} ${stringOr(details.toolCallId)}`
    if (at - (this.#writtenAt.get(call) ?? Number.NEGATIVE_INFINITY) < everyMs) return []
    if (this.#writtenAt.size >= callsMax) this.#writtenAt.clear()
    this.#writtenAt.set(call, at)
    const label = roster.labelOf(workerId) ?? workerId
    const progress = `${stringOr(details.toolName, 'a tool')}: ${valueLine(details.value)}`
    return [`${formatTime(at)}  ${escapeLine(label)}  ${escapeLine(progress)}`]
  }
}
