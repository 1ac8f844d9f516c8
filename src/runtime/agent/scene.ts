/** Duty: what the parts of one agent turn share: its kind, its journal, its mail, its folder. */
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import type { Model, ModelSource } from '../../core/definition/model.ts'
import type { ToolExecutor } from '../tool/executor.ts'
import { mayRecord } from '../turn/permit.ts'
import type { Turn } from '../turn/turn.ts'
import { AgentEnd } from './agent-end.ts'
import { agentFolder } from './agent-folder.ts'
import { AgentInbox } from './agent-inbox.ts'
import type { AgentTools } from './call/agent-tools.ts'
import type { HistoryCache } from './history-cache.ts'
import type { Iteration } from './iteration.ts'
import type { Journal } from './journal.ts'
import { Retries } from './retries.ts'

/** What agents of one node share. */
export interface AgentParts {
  readonly models: ModelSource
  readonly executor: ToolExecutor
  readonly histories: HistoryCache
}

export interface AgentKind {
  readonly definition: AgentDefinition
  readonly model: Model
  readonly tools: AgentTools
}

/** What a turn ends with, instead of going on. */
export interface Wait {
  readonly for: string
  readonly retryMs?: number
}

export class Scene {
  readonly kind: AgentKind
  readonly parts: AgentParts
  readonly journal: Journal
  readonly inbox: AgentInbox
  readonly end: AgentEnd
  readonly retries: Retries
  /** Of the newest reply, when this very turn recorded it. */
  iteration: Iteration | null = null
  /** Asked for once in each run: the next one may have another input. */
  #folder: { readonly run: number; readonly found: Promise<string | null> } | undefined

  constructor(kind: AgentKind, parts: AgentParts, journal: Journal) {
    this.kind = kind
    this.parts = parts
    this.journal = journal
    this.inbox = new AgentInbox(journal)
    this.end = new AgentEnd(journal)
    this.retries = new Retries(kind.definition, journal)
  }

  get turn(): Turn {
    return this.journal.turn
  }

  /** The turn is over or about to be: what comes next is not its to record. */
  get isOver(): boolean {
    return !mayRecord(this.turn)
  }

  get who(): string {
    const { name, workerId } = this.turn.grant
    return `worker ${name} (${workerId})`
  }

  /** Rejects with an error that fails the run; at once null where no folder is named. */
  folder(): Promise<string | null> | null {
    if (this.kind.definition.folder === undefined && this.turn.grant.allowed.folder === undefined) return null
    const { run } = this.journal.position
    if (this.#folder?.run !== run) {
      this.#folder = { run, found: agentFolder(this.kind.definition, this.turn.grant, this.journal.container) }
    }
    return this.#folder.found
  }
}
