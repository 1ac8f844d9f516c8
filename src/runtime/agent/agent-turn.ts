/**
 * Duty: hold what the parts of one agent turn share: the kind, the tools, the journal, the inbox, the folder.
 * Owns: the newest reply's iteration and the folder, both for this turn only. Does not own: the order of steps (agent.ts).
 */
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import type { Model, ModelSource } from '../../core/definition/model.ts'
import type { Telemetry } from '../../core/ports/telemetry.ts'
import type { TurnWait } from '../../core/worker/wait.ts'
import type { ToolExecutor } from '../tool/executor.ts'
import { mayRecord } from '../turn/permit.ts'
import type { Turn } from '../turn/turn.ts'
import { AgentEnd } from './agent-end.ts'
import { agentFolder } from './agent-folder.ts'
import { AgentInbox } from './agent-inbox.ts'
import type { AgentTools, Toolbox } from './call/agent-tools.ts'
import { type Compaction, Compactor } from './compaction/compactor.ts'
import type { StickyContext } from './context/sticky-context.ts'
import type { HistoryCache } from './history-cache.ts'
import type { Iteration } from './iteration.ts'
import type { Journal } from './journal.ts'
import type { OutputForm } from './reply/output.ts'
import { Retries } from './retries.ts'

/** What all agents of one node share. */
export interface AgentParts {
  readonly models: ModelSource
  readonly executor: ToolExecutor
  readonly histories: HistoryCache
  readonly telemetry: Telemetry
}

export interface AgentKind {
  /** The definition as its worker is configured. */
  readonly definition: AgentDefinition
  /** The definition as its author wrote it. */
  readonly written: AgentDefinition
  readonly model: Model
  readonly toolbox: Toolbox
  /** What stands before the conversations of the kind; null: nothing. */
  readonly sticky: StickyContext | null
  /** The form of the result; null: the result is a text. */
  readonly output: OutputForm | null
  /** How conversations of the kind are compacted; null: they are not. */
  readonly compaction: Compaction | null
}

/** What the worker waits for when its turn ends. `retryMs`: how long, if it waits for its next attempt. */
export interface Pause {
  readonly for: TurnWait
  readonly retryMs?: number
}

export class AgentTurn {
  readonly kind: AgentKind
  readonly parts: AgentParts
  readonly journal: Journal
  readonly inbox: AgentInbox
  readonly end: AgentEnd
  readonly retries: Retries
  readonly compactor: Compactor
  /** The tools of the kind as they are during this turn. Undefined until the turn needs them. */
  tools: AgentTools | undefined
  /** What the newest reply means; null when an earlier turn recorded that reply. */
  iteration: Iteration | null = null
  /** The newest iteration that this turn has looked at. */
  newest: Iteration | null = null
  /** The last run that has begun in this worker. */
  begunRun: number
  working: Promise<unknown> | undefined
  /** Found once in each run, because the next run may have another input. */
  #folder: { readonly run: number; readonly found: Promise<string | null> } | undefined

  constructor(kind: AgentKind, parts: AgentParts, journal: Journal) {
    this.kind = kind
    this.parts = parts
    this.journal = journal
    this.inbox = new AgentInbox(journal)
    this.end = new AgentEnd(journal, parts.telemetry)
    this.retries = new Retries(kind.definition, journal)
    this.compactor = new Compactor(this, kind.compaction)
    const { open, run, begunRun } = journal.turn.assignment
    this.begunRun = open ? run : begunRun
  }

  get turn(): Turn {
    return this.journal.turn
  }

  /** The turn has ended or is being aborted: it must record nothing more. */
  get isOver(): boolean {
    return !mayRecord(this.turn)
  }

  get who(): string {
    const { name, workerId } = this.turn.assignment
    return `worker ${name} (${workerId})`
  }

  /** Rejects with an error that fails the run. Returns null, and no promise, when neither the kind nor the parent names a folder. */
  folder(): Promise<string | null> | null {
    if (this.kind.definition.folder === undefined && this.turn.assignment.permissions.folder === undefined) return null
    const { run } = this.journal.position
    if (this.#folder?.run !== run) {
      this.#folder = { run, found: agentFolder(this.kind.definition, this.turn.assignment, this.journal.container) }
    }
    return this.#folder.found
  }
}
