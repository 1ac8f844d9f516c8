/**
 * Duty: collect what the runs of an agent leave behind, under names of their own space, as a fold over its history.
 * METADATA-1 The facts are in the entries and stored nowhere else, so they cannot contradict the history.
 */
import { toolCallsOf } from '../chat/chat-message.ts'
import type { Entry } from '../entry.ts'

/** A name is missing while there is nothing to say. */
export interface RunMetadata {
  /** How the newest reply ended: as an answer, or with a request for tools that is not settled yet. Missing after a run that has no answer. */
  readonly 'agent_loop.completion_state'?: 'completed_ready_for_prompt' | 'completed_with_tool_request'
  /** The tool that was asked for last. */
  readonly 'agent_loop.last_tool'?: string
  /** When a summary was written last, as an ISO time. */
  readonly 'compact.last_run_timestamp'?: string
}

export class RunMetadataFold {
  #state: RunMetadata['agent_loop.completion_state']
  #tool: string | undefined
  #compactedAt: number | undefined

  apply(entry: Entry): void {
    const { type } = entry
    if (type === 'assistant') this.#replied(toolCallsOf(entry).at(-1)?.toolName)
    else if (type === 'compacted') this.#compactedAt = entry.at
    else if (type === 'completed') this.#state = 'completed_ready_for_prompt'
    // Any other message within a run follows a request for tools.
    else if (type === 'failed' || type === 'cancelled' || (type === 'received' && entry.message.kind === 'input'))
      this.#state = undefined
  }

  get metadata(): RunMetadata {
    return {
      ...(this.#state !== undefined && { 'agent_loop.completion_state': this.#state }),
      ...(this.#tool !== undefined && { 'agent_loop.last_tool': this.#tool }),
      ...(this.#compactedAt !== undefined && {
        'compact.last_run_timestamp': new Date(this.#compactedAt).toISOString(),
      }),
    }
  }

  #replied(tool: string | undefined): void {
    this.#state = tool === undefined ? undefined : 'completed_with_tool_request'
    this.#tool = tool ?? this.#tool
  }
}
