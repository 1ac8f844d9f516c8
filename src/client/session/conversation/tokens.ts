/**
 * Duty: say how many tokens an agent has used, by sort, and how much of the window of its model the next prompt fills.
 * TOKENS-1 The newest reply says what its provider counted, so that only the end of the history is read. If what prompts hold was changed behind it,
 *          the whole history is read.
 */
import { type AssistantMessage, askedModel } from '../../../core/history/chat/chat-message.ts'
import { ContextContainer } from '../../../core/history/context-container.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { decodeTally, reportedUsage } from '../../../core/history/run/agent-tally.ts'
import { countingEntries, type PlacedEntry } from '../../../core/history/undone.ts'
import { tokensOf } from '../../../core/worker/run/usage.ts'
import { contextWindow } from '../../../models/context-window.ts'
import type { WorkerRow } from '../../../store/worker/worker-rows.ts'
import { type Amended, readAgent } from './amend.ts'
import { readEntries } from './branches.ts'

export interface TokenCounts {
  /** Tokens that were read from a cache, or written to it, are among these. */
  readonly inputTokens: number
  /** Tokens of reasoning are among these. */
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export interface TokenReport {
  /** The tokens of all its model calls, also of those that failed or wrote a summary. */
  readonly total: TokenCounts
  /** The tokens of its newest reply; null before that. */
  readonly last: TokenCounts | null
  readonly context: {
    /** The size of the next prompt without its next input: counted by the provider up to the newest reply, estimated behind it. */
    readonly tokens: number
    /** The model that wrote its newest reply; null before that. */
    readonly model: string | null
    /** The window of the model: as its kind says, else from a table; null if neither knows it. */
    readonly window: number | null
    /** The share of `window` that `tokens` fill. */
    readonly share: number | null
  }
}

const tailLength = 50
/** After one of these entries, the size of the prompt is no longer what the newest reply says. */
const changesPrompt: ReadonlySet<Entry['type']> = new Set(['compacted', 'cleared', 'expanded', 'undone', 'redone'])

export async function tokensOfWorker(worker: Amended): Promise<TokenReport> {
  const row = await readAgent(worker)
  const { record, historyLength } = row
  const tail = await worker.history({ after: Math.max(-1, historyLength - 1 - tailLength), limit: tailLength })
  const items = isEnough(tail) ? tail : await readEntries(worker, historyLength - 1)
  const container = containerOf(row, items)
  const reply = lastReply(container)
  const tally = decodeTally(record.data)
  const [model, tokens] = [reply === null ? null : askedModel(reply), container.size.tokens]
  const kinds = await worker.store.kinds()
  const given = kinds.find(({ kind }) => kind === record.kind)?.window
  const window = given ?? (model === null ? null : await contextWindow(model))
  return {
    total: countsOf(tally === null ? {} : reportedUsage(tally)),
    last: reply === null ? null : countsOf(reply.usage),
    context: { tokens, model, window, share: window === null ? null : tokens / window },
  }
}

/** Are these entries enough? They are if they hold a reply whose tokens a provider has counted, and no entry after it changes what prompts hold. */
function isEnough(items: readonly PlacedEntry[]): boolean {
  if (items[0]?.position === 0) return true
  const last = items.findLastIndex(({ entry }) => entry.type === 'assistant' && tokensOf(entry.usage) > 0)
  return last >= 0 && !items.slice(last).some(({ entry }) => changesPrompt.has(entry.type))
}

function containerOf({ id, record }: WorkerRow, items: readonly PlacedEntry[]): ContextContainer {
  const { name, kind, parentId, depth } = record
  const container = new ContextContainer({ sessionId: '', workerId: id, name, kind, parentId, depth })
  for (const { entry } of countingEntries(items)) container.apply(entry)
  return container
}

function lastReply({ history }: ContextContainer): AssistantMessage | null {
  return history.lastAssistant ?? null
}

function countsOf(usage: { readonly [Name in keyof TokenCounts]?: number | undefined }): TokenCounts {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }
}
