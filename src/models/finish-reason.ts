/**
 * Duty: say by meaning how a reply ended, from the reason of the AI SDK and from the provider's own word.
 * FINISH-1 The SDK knows only the words of its own protocols and calls every other one `other`. A word for a failure is a failed call, and a
 *          word for a limit or a filter is an answer that was cut, whatever server wrote it.
 */
import type { FinishReason } from '../core/history/chat/chat-message.ts'

/** `interrupted`: the SDK's reason for a stream that broke off. */
export type SdkFinish = FinishReason | 'interrupted'

export type FailedCallCode = 'model_overloaded' | 'model_unavailable' | 'model_garbled'

/** A failed call with its class, or the reason why the reply ended. */
export type Ending =
  | { readonly kind: 'ended'; readonly reason: FinishReason }
  | { readonly kind: 'failed'; readonly code: FailedCallCode }

/** In this order: `malformed_function_call` is garbled although it is an error, and `content_filter_error` is a filter. */
const meanings: readonly (readonly [word: RegExp, ending: Ending])[] = [
  [
    /filter|safety|moderat|sensitive|blocked|blocklist|prohibited|recitation|spii|refus|toxic/,
    { kind: 'ended', reason: 'content-filter' },
  ],
  [/malformed|garbled|unexpected_tool|invalid/, { kind: 'failed', code: 'model_garbled' }],
  [
    /overload|rate_?limit|throttl|capacity|busy|insufficient_system_resource|too_many_requests/,
    { kind: 'failed', code: 'model_overloaded' },
  ],
  [
    /error_limit|max_?(?:output_|new_|completion_)?(?:tokens|length)|model_length|token_?limit|^length|truncat|context_window/,
    { kind: 'ended', reason: 'length' },
  ],
  [
    /error|abort|cancel|fail|interrupt|time_?d?_?out|disconnect|unavailable|crash|exception|preempt|killed/,
    { kind: 'failed', code: 'model_unavailable' },
  ],
]

/** `word`: the word that the provider used. */
export function endingOf(reason: SdkFinish, word: string | undefined): Ending {
  if (reason === 'interrupted') return { kind: 'failed', code: 'model_unavailable' }
  // The adapter for OpenAI's responses says `tool-calls` for any word that it does not know, if the reply has calls.
  if (reason !== 'other' && reason !== 'error' && reason !== 'tool-calls') return { kind: 'ended', reason }
  const said = (word ?? '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s.-]+/g, '_')
  const meaning = meanings.find(([pattern]) => pattern.test(said))
  if (meaning !== undefined) return meaning[1]
  return reason === 'error' ? { kind: 'failed', code: 'model_unavailable' } : { kind: 'ended', reason }
}
