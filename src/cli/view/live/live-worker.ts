/**
 * Duty: keep what is known of one worker while its session runs: from events, and now and then from its record.
 * LIVEWORKER-1 It is for watching only. If the record knows more than the events (what a worker waits for), the record counts; if the events are
 *              newer (what a running worker does), the events count.
 */
import type { WorkerReport } from '../../../client/report.ts'
import type { RawEvent } from '../../../core/event/event.ts'
import { type Activity, isOver } from '../../../core/worker/run/activity.ts'
import type { Failure } from '../../../core/worker/run/failure.ts'
import { failureCause, stringOr, valueLine } from '../../../words/lines/message-line.ts'
import { StreamedText } from './streamed-text.ts'

/** A tool call that runs. */
export interface LiveTool {
  readonly name: string
  readonly since: number
  /** The progress that the tool reported last; empty if none. */
  readonly progress: string
}

export class LiveWorker {
  readonly id: string
  readonly #streamed = new StreamedText()
  readonly #tools = new Map<string, LiveTool>()
  #activity: Activity = 'queued'
  #since = 0
  #endedAt: number | null = null
  #recordedWait: string | null = null
  #retry: { readonly attempt: number; readonly at: number } | null = null
  #iterations: number | null = null
  #tokens = 0
  #failure: string | null = null

  constructor(id: string) {
    this.id = id
  }

  /** When its present activity began. */
  get since(): number {
    return this.#since
  }

  get endedAt(): number | null {
    return this.#endedAt
  }

  /** The model calls of its run; null for a worker without a model. */
  get iterations(): number | null {
    return this.#iterations
  }

  get tokens(): number {
    return this.#tokens
  }

  /** How its run, or an attempt of its run, failed last. */
  get failure(): string | null {
    return this.#failure
  }

  /** The attempt that it waits for, and when it begins. */
  get retry(): { readonly attempt: number; readonly at: number } | null {
    return this.#retry
  }

  /** What its record says that it waits for. */
  get recordedWait(): string | null {
    return this.#recordedWait
  }

  /** The calls that run, the newest last. */
  get tools(): readonly LiveTool[] {
    return [...this.#tools.values()]
  }

  get text(): string {
    return this.#streamed.text
  }

  /** Notes an event of this worker. */
  note(event: RawEvent): void {
    this.#streamed.note(event)
    const { type, details, at } = event
    switch (type) {
      case 'run.started':
        this.#endedAt = null
        this.#failure = null
        this.#iterations = this.#iterations === null ? null : 0
        return
      case 'model.replied':
        this.#iterations = Number(details.iteration ?? 0)
        this.#tokens += Number(details.inputTokens ?? 0) + Number(details.outputTokens ?? 0)
        return
      case 'tool.started':
        this.#tools.set(callIn(event), { name: stringOr(details.toolName, 'a tool'), since: at, progress: '' })
        return
      case 'tool.progress': {
        const known = this.#tools.get(callIn(event)) ?? { name: stringOr(details.toolName, 'a tool'), since: at }
        this.#tools.set(callIn(event), { ...known, progress: valueLine(details.value) })
        return
      }
      case 'tool.succeeded':
      case 'tool.failed':
      case 'tool.unknown':
        this.#tools.delete(callIn(event))
        return
      case 'turn.retried':
        this.#retry = { attempt: Number(details.attempt) + 1, at: at + Number(details.retryMs) }
        this.#failure = failureIn(details.failure)
        return
      case 'worker.failed':
        this.#failure = failureIn(details.failure)
        return
      case 'run.completed':
        this.#failure = null
        return
      default:
    }
  }

  /** Takes over the activity that the roster derived. */
  settle(activity: Activity, at: number): void {
    if (isOver(activity)) this.#tools.clear()
    if (activity === this.#activity && this.#since > 0) return
    this.#activity = activity
    this.#since = at
    this.#recordedWait = null
    if (activity !== 'waiting') this.#retry = null
    if (isOver(activity)) this.#endedAt = at
  }

  /** Takes over what only the record says. */
  fill({ waitsFor, iterations, usage, lastFailure }: WorkerReport): void {
    this.#recordedWait = waitsFor
    if (usage.modelCalls !== undefined) {
      this.#iterations = Math.max(iterations, this.#iterations ?? 0)
      this.#tokens = Math.max(this.#tokens, (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0))
    }
    if (lastFailure !== null && isOver(this.#activity)) this.#failure ??= failureCause(lastFailure)
  }
}

function callIn({ details }: RawEvent): string {
  return stringOr(details.toolCallId)
}

function failureIn(failure: unknown): string | null {
  return typeof failure === 'object' && failure !== null ? failureCause(failure as Failure) : null
}
