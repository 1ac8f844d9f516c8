/**
 * Duty: say what happens in `troupe dev`: lines for people, or one object each with --json.
 * DEV-REPORT-1 A problem is said once, until it changes.
 */
import { relative } from 'node:path'
import type { WorkerReport } from '../../../client/report.ts'
import { formatDuration, formatTime } from '../../../words/duration.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import type { KindProblem, LoadedKind } from '../../host/child/messages.ts'
import type { NodeChange } from '../../host/child/reloaded-node.ts'
import { paint, printJson, safe } from '../../terminal/output.ts'
import { againText, changedText, kindsChangeText, problemLines } from '../../view/dev/dev-lines.ts'
import { type LabelOf, type LogRecord, lineBesideEvents, nodeLogLine } from '../../view/lines/log-line.ts'
import type { Page } from '../../view/page.ts'

/** What `troupe dev` says with --json, beside the events of nodes. */
export type DevObject =
  | {
      readonly type: 'ready'
      readonly url: string
      readonly page: string | null
      readonly redis: string
      readonly pid: number
    }
  | {
      readonly type: 'loaded'
      readonly nodeId: string
      readonly kinds: readonly LoadedKind[]
      readonly problems: readonly KindProblem[]
      readonly files: readonly string[]
    }
  | { readonly type: 'kept'; readonly problems: readonly KindProblem[] }
  | { readonly type: 'none'; readonly reason: string }
  | { readonly type: 'died'; readonly how: string; readonly againMs: number }
  | { readonly type: 'killed'; readonly nodeId: string; readonly running: readonly string[] }
  | { readonly type: 'takenUp'; readonly workerId: string; readonly sessionId: string; readonly afterMs: number }
  | ({ readonly type: 'log' } & LogRecord)
  | { readonly type: 'output'; readonly line: string }

/** A conversation through which a report speaks: its prompt stands below what is told. */
export interface ReportPlace {
  tell(line: string): void
  /** The label of a worker that the conversation shows: its events are shown too. */
  readonly labelOf: LabelOf
  /** Called when code begins to run, which may have other kinds than before. */
  kindsChanged(): void
}

export class DevReport {
  readonly #isJson: boolean
  readonly #page: Page
  readonly #write: (line: string) => void
  #place: ReportPlace | undefined
  #known: readonly string[] | undefined
  #problems = ''
  #unwatched = ''

  constructor(isJson: boolean, page: Page, write: (line: string) => void) {
    this.#isJson = isJson
    this.#page = page
    this.#write = write
  }

  /** From now on it speaks through this conversation, until the answer is disposed of. */
  through(place: ReportPlace): Disposable {
    this.#place = place
    return {
      [Symbol.dispose]: () => {
        this.#place = undefined
      },
    }
  }

  tell(...lines: readonly string[]): void {
    for (const line of lines) {
      if (this.#place === undefined) this.#write(line)
      else this.#place.tell(line)
    }
  }

  /** Writes an object for programs; people get the lines. */
  object(object: DevObject): void {
    if (this.#isJson) printJson(object)
  }

  readonly changed = (change: NodeChange): void => {
    switch (change.type) {
      case 'began':
        this.#began(change)
        return
      case 'kept':
        this.object(change)
        this.#event('yellow', 'kept', 'the code that runs goes on, because the new code cannot be used:')
        this.tell(...problemLines(change.problems, this.#page))
        return
      case 'none':
        this.object(change)
        // The greeting has no kinds to show, so those that come are told.
        this.#known ??= []
        this.#event('yellow', 'waiting', `no kind runs: ${safe(change.reason)}`)
        return
      case 'died':
        this.object(change)
        this.#event('red', 'died', `the node's process ended (${safe(change.how)}); ${againText(change.againMs)}`)
    }
  }

  readonly logged = (record: LogRecord): void => {
    this.object({ type: 'log', ...record })
    if (this.#isJson) return
    const { session, worker, kind, attempt } = fieldsOf(record)
    const labelOf: LabelOf = (id) => this.#place?.labelOf(id)
    const isShown = typeof worker === 'string' && labelOf(worker) !== undefined
    const label = (id: string) => labelOf(id) ?? `${String(kind)} ${String(session).slice(0, 13)}`
    // The events of the conversation say what failed.
    if (isShown && attempt !== undefined) return
    const line = isShown || session !== undefined ? lineBesideEvents(record, label) : nodeLogLine(record)
    if (line !== undefined) this.tell(line)
  }

  readonly printed = (line: string): void => {
    this.object({ type: 'output', line })
    if (!this.#isJson) this.tell(`${paint('dim', 'out', process.stderr)}  ${safe(line)}`)
  }

  /** Changes of some files are not seen. */
  readonly unwatched = (error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error)
    if (this.#unwatched === why) return
    this.#unwatched = why
    this.tell(
      `troupe: changes of some files are not seen (${safe(why)}): start troupe dev again after you changed them`,
    )
  }

  killed(nodeId: string, running: readonly WorkerReport[]): void {
    this.object({ type: 'killed', nodeId, running: running.map(({ id }) => id) })
    const what = running.length === 0 ? 'it ran nothing' : `it ran ${running.map(shownWorker).join(', ')}`
    this.#event('red', 'chaos', `the node was killed (SIGKILL); ${what}`)
  }

  takenUp(worker: WorkerReport, afterMs: number): void {
    this.object({ type: 'takenUp', workerId: worker.id, sessionId: worker.sessionId, afterMs })
    this.#event('green', 'chaos', `${shownWorker(worker)} was taken up again after ${formatDuration(afterMs)}`)
  }

  notTakenUp(worker: WorkerReport): void {
    this.#event('yellow', 'chaos', `${shownWorker(worker)} was not taken up: troupe worker show ${worker.id} says why`)
  }

  /** A line about the node itself. */
  #event(style: 'yellow' | 'red' | 'green', word: string, text: string): void {
    if (!this.#isJson) this.tell(`${formatTime(Date.now())}  ${paint(style, word, process.stderr)}  ${text}`)
  }

  #began({ nodeId, loaded, files }: Extract<NodeChange, { type: 'began' }>): void {
    const kinds = loaded.kinds.map(({ kind }) => kind)
    const named = files.map((file) => relative(process.cwd(), file))
    this.object({ type: 'loaded', nodeId, kinds: loaded.kinds, problems: loaded.problems, files: named })
    if (this.#isJson) return
    // The first time, the greeting says it all.
    if (this.#known !== undefined) {
      const why = files.length === 0 ? 'a new process runs the code' : `${changedText(named)} changed`
      this.#event('green', 'loaded', `${why}${kindsChangeText(this.#known, kinds)}`)
      const problems = JSON.stringify(loaded.problems)
      if (problems !== this.#problems) this.tell(...problemLines(loaded.problems, this.#page))
    }
    this.#known = kinds
    this.#place?.kindsChanged()
    this.#problems = JSON.stringify(loaded.problems)
  }
}

/** Names a worker as the log lines of its session do: `counter 01a21d6f-8dd3`. */
function shownWorker({ kind, name, sessionId }: WorkerReport): string {
  return `${safe(nameAndKind(name, kind))} ${sessionId.slice(0, 13)}`
}

function fieldsOf({ fields }: LogRecord): Readonly<Record<string, unknown>> {
  return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>) : {}
}
