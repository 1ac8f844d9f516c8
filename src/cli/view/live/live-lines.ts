/**
 * Duty: a session as the lines of a live tree, made for one width and height of a terminal.
 * LIVELINES-1 No line is wider than the terminal, and there are no more lines than fit.
 * LIVELINES-2 On a narrow terminal each part of a line gives way, and none is left out: name, activity, what it waits for and since when,
 *             iterations, tokens, time.
 */
import { type Activity, isActive, isOver } from '../../../core/worker/run/activity.ts'
import { count, tokensText } from '../../../words/amounts.ts'
import { formatDuration, formatSeconds } from '../../../words/duration.ts'
import { escapeLine, escapeText } from '../../../words/text/escape.ts'
import { breakText, fitText, fitTextEnd, textWidth } from '../../../words/text/text-width.ts'
import type { Leaf } from '../../../words/tree.ts'
import { type Paint, stateStyle } from '../page.ts'
import { countsText } from '../progress-text.ts'
import { type LiveRows, liveRows } from './live-rows.ts'
import type { LiveMember, LiveSession } from './live-session.ts'

export interface Frame {
  readonly columns: number
  readonly rows: number
  readonly now: number
  readonly paint: Paint
}

/** The most lines for the text of the first worker. */
const textLinesMax = 8
const gap = '  '
const nameColumnsMin = 12
/** The least room for the activity and what belongs to it. */
const activityColumnsMin = 16
/** A detail of this length, such as "3 children", needs no line of its own. */
const detailCharsShort = 12

export function liveLines(session: LiveSession, frame: Frame): string[] {
  const members = session.members()
  if (members.length === 0) return []
  const { rootId } = session
  const text = textLines(members, rootId, frame)
  const hasHead = members.length > 1 || members.some(({ details }) => details.iterations !== null)
  const most = Math.max(1, frame.rows - text.length - (hasHead ? 1 : 0))
  const rows = liveRows(members, most)
  const numbers = numberColumns(members, rows, frame)
  const context = { rows, numbers, frame, rootId }
  const lines = rows.leaves.map((leaf, index) => rowLine(leaf, index, context))
  const head = hasHead ? [headLine(members, numbers, frame)] : []
  const tree = rows.omitted === undefined ? withCutDetails(lines, rows, most, frame) : lines.map(({ line }) => line)
  return [...head, ...tree, ...omittedLine(rows, frame), ...text].slice(0, Math.max(1, frame.rows))
}

/** A line, and what did not fit in it: empty if all did. */
interface RowLine {
  readonly line: string
  readonly cut: string
}

/** If there is room, a detail that was cut gets a line of its own. */
function withCutDetails(lines: readonly RowLine[], { leaves }: LiveRows, most: number, frame: Frame): string[] {
  let spare = most - lines.length
  return lines.flatMap(({ line, cut }, index) => {
    if (cut === '' || spare < 1) return [line]
    spare--
    const indent = ' '.repeat(Math.min((leaves[index]?.lead.length ?? 0) + 2, Math.floor(frame.columns / 4)))
    return [line, frame.paint('dim', indent + fitText(cut, frame.columns - indent.length))]
  })
}

interface NumberColumn {
  readonly header: string
  readonly cells: readonly string[]
  readonly width: number
}

function numberColumns(
  members: readonly LiveMember[],
  { leaves }: LiveRows,
  { columns, now }: Frame,
): readonly NumberColumn[] {
  const usesModel = members.some(({ details }) => details.iterations !== null)
  const column = (header: string, cell: (member: LiveMember) => string): NumberColumn => {
    const cells = leaves.map(({ worker }) => cell(worker))
    return { header, cells, width: cells.reduce((most, text) => Math.max(most, text.length), header.length) }
  }
  const ofModel = [
    column(columns < 80 ? 'ITER' : 'ITERATIONS', ({ details }) => String(details.iterations ?? '')),
    column('TOKENS', ({ details }) => (details.iterations === null ? '' : tokensText(details.tokens))),
  ]
  return [...(usesModel ? ofModel : []), column('TIME', (member) => elapsed(member, now))]
}

function elapsed({ startedAt, activity, details }: LiveMember, now: number): string {
  if (startedAt === null) return ''
  if (isOver(activity)) return formatDuration((details.endedAt ?? now) - startedAt)
  return formatSeconds(now - startedAt)
}

function numbersText(numbers: readonly NumberColumn[], cell: (column: NumberColumn) => string): string {
  return numbers.map((column) => gap + cell(column).padStart(column.width)).join('')
}

/** `12 workers: 3 working, 9 done   ITERATIONS  TOKENS  TIME` */
function headLine(members: readonly LiveMember[], numbers: readonly NumberColumn[], { columns, paint }: Frame): string {
  const headers = numbersText(numbers, ({ header }) => header)
  const room = columns - headers.length
  if (members.length === 1) return ' '.repeat(Math.max(0, room)) + paint('dim', headers)
  const counts = countsOf(members)
  const whole = `${count(members.length, 'worker')}: ${countsText(counts)}`
  if (textWidth(whole) > room) return pad(fitText(whole, room), room) + paint('dim', headers)
  const painted = `${count(members.length, 'worker')}: ${countsText(counts, paint)}`
  return painted + ' '.repeat(room - textWidth(whole)) + paint('dim', headers)
}

function countsOf(members: readonly LiveMember[]): Partial<Record<Activity, number>> {
  const counts: Partial<Record<Activity, number>> = {}
  for (const { activity } of members) counts[activity] = (counts[activity] ?? 0) + 1
  return counts
}

function omittedLine({ leaves, omitted }: LiveRows, { columns, paint }: Frame): string[] {
  if (omitted === undefined) return []
  const what = countsText(omitted)
  return [paint('dim', fitText(leaves.length === 0 ? what : `and ${what}`, columns))]
}

interface RowContext {
  readonly rows: LiveRows
  readonly numbers: readonly NumberColumn[]
  readonly frame: Frame
  readonly rootId: string | undefined
}

function rowLine(leaf: Leaf<LiveMember>, index: number, { rows, numbers, frame, rootId }: RowContext): RowLine {
  const { paint, columns, now } = frame
  const numbersPart = numbersText(numbers, ({ cells }) => cells[index] ?? '')
  const room = columns - numbersPart.length - gap.length
  const widest = rows.leaves.reduce((most, { lead, name }) => Math.max(most, textWidth(lead + escapeLine(name))), 0)
  const nameRoom = Math.min(
    widest,
    Math.max(nameColumnsMin, Math.min(Math.floor(room * 0.45), room - activityColumnsMin)),
  )
  const activityRoom = Math.max(0, room - nameRoom)
  const { activity } = leaf.worker
  const doing = doingOf(leaf.worker, now, leaf.worker.id === rootId)
  const text = fitDoing(doing, activityRoom)
  const painted = text.startsWith(activity) ? paint(stateStyle(activity), activity) + text.slice(activity.length) : text
  const padding = ' '.repeat(Math.max(0, activityRoom - textWidth(text)))
  const line = `${pad(labelText(leaf, nameRoom), nameRoom)}${gap}${painted}${padding}${paint('dim', numbersPart)}`
  const isCut =
    textWidth(doing.head + doing.detail + doing.time) > activityRoom && doing.detail.length > detailCharsShort
  return { line: line.trimEnd(), cut: isCut ? doing.detail : '' }
}

/** In a deep tree, only the last lines that lead to a worker are shown, so that its name keeps some room. */
function labelText({ lead, name }: Leaf<LiveMember>, room: number): string {
  const leadRoom = Math.max(3, room - nameColumnsMin)
  const shownLead = lead.length <= leadRoom ? lead : lead.slice(-(leadRoom - (leadRoom % 3)))
  return fitText(shownLead + escapeLine(name), room)
}

/** `waiting for 3 children 12s`, in its three parts. They are escaped. */
interface Doing {
  /** The activity, and the words before the detail. */
  readonly head: string
  readonly detail: string
  /** How long, with a space before it. */
  readonly time: string
  /** The end of the detail is shown if it does not fit. */
  readonly isGrowing?: boolean
}

function doingOf(member: LiveMember, now: number, isRoot: boolean): Doing {
  const { activity, details } = member
  const since = ` ${formatSeconds(now - details.since)}`
  const tool = details.tools.at(-1)
  if (activity === 'answering' && !isRoot && details.text !== '') {
    const detail = escapeLine(details.text.trimEnd().split('\n').at(-1) ?? '')
    return { head: 'answering: ', detail, time: '', isGrowing: true }
  }
  if (tool !== undefined && isActive(activity)) {
    const more = details.tools.length > 1 ? ` and ${details.tools.length - 1} more` : ''
    const progress = tool.progress === '' ? '' : `: ${tool.progress}`
    const detail = escapeLine(`${tool.name}${more}${progress}`)
    return { head: 'using a tool: ', detail, time: ` ${formatSeconds(now - tool.since)}` }
  }
  if (activity === 'waiting' || activity === 'queued') {
    const detail = escapeLine(waitingFor(member, now))
    return { head: detail === '' ? activity : `${activity} for `, detail, time: since }
  }
  const time = isOver(activity) || activity === 'working' ? '' : since
  const failure = details.failure === null ? '' : escapeLine(details.failure)
  if (failure !== '' && isActive(activity)) return { head: `${activity} after `, detail: failure, time }
  // The failure of the first worker is printed below.
  if (failure !== '' && isOver(activity) && !isRoot) return { head: `${activity}: `, detail: failure, time }
  return { head: activity, detail: '', time }
}

function fitDoing({ head, detail, time, isGrowing }: Doing, room: number): string {
  if (isGrowing) return fitText(head + fitTextEnd(detail, Math.max(1, room - textWidth(head))), room)
  // The time stays whole where the text is cut.
  return fitText(head + detail, room - time.length) + time
}

/** Empty if nothing is known, or if it goes without saying. */
function waitingFor({ activity, openChildren, details }: LiveMember, now: number): string {
  if (details.retry !== null) {
    const why = details.failure === null ? '' : ` after ${details.failure}`
    return `attempt ${details.retry.attempt} in ${formatSeconds(details.retry.at - now)}${why}`
  }
  if (activity === 'waiting' && openChildren > 0) return `${openChildren} ${openChildren === 1 ? 'child' : 'children'}`
  const what = details.recordedWait ?? ''
  return activity === 'queued' && what === 'a free slot' ? '' : what
}

/** The last lines of what the first worker says. If there are several workers, a line above names it. */
function textLines(members: readonly LiveMember[], rootId: string | undefined, { columns, rows }: Frame): string[] {
  const root = members.find(({ id }) => id === rootId)
  if (root === undefined || root.details.text.trim() === '') return []
  const most = Math.max(1, Math.min(textLinesMax, rows - 3))
  // Earlier lines cannot be on the screen, and to measure thousands of them would take longer than the time between two frames.
  const last = root.details.text.trimEnd().split('\n').slice(-most).join('\n')
  const lines = breakText(escapeText(last).replaceAll('\t', '  '), columns).slice(-most)
  return members.length > 1 && rows > most + 3 ? [`${fitText(escapeLine(root.name), columns - 1)}:`, ...lines] : lines
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}
