/**
 * Duty: fetch replies of a provider, of which only the events that its protocol knows reach the AI SDK.
 * REPLY-FETCH-1 That the request leaves, what arrives, and what is skipped is reported to the model call for which the request is made.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { ModelCall } from '../../core/definition/model.ts'
import type { Usage } from '../../core/history/chat/chat-message.ts'
import { policy } from '../../core/policy.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { eventFilter } from './event-stream.ts'
import type { ReplyProtocol } from './reply-protocol.ts'

/** The model call for which the running code makes a request. The AI SDK does not pass it on to `fetch`. */
export const currentCall = new AsyncLocalStorage<ModelCall>()

export function replyFetch(id: string, protocol: ReplyProtocol): typeof fetch {
  listen()
  const bounded = boundedFetch(policy.replyBytesMax, id)
  return async (input, init) => {
    const call = currentCall.getStore()
    const response = await bounded(input, init)
    // In a program that has put something else in the place of `fetch`, nothing was told before.
    call?.onSent?.()
    if (response.body === null || !response.ok) return response
    const onUsage = (usage: Usage) => call?.onUsage?.(usage)
    const onSkipped = (what: string) => call?.onSkipped?.(what)
    const body = response.body
      .pipeThrough(activity(() => call?.onActivity?.()))
      .pipeThrough(eventFilter({ id, protocol, graceMs: policy.lastEventMs, onUsage, onSkipped }))
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
  }
}

/** The model calls of requests that have not left yet. */
const waiting = new WeakMap<object, ModelCall>()
let isListening = false

/** `fetch` does not say whether a request that failed had left. It tells that to those who listen to its channels. */
function listen(): void {
  if (isListening) return
  isListening = true
  subscribe('undici:request:create', (message) => {
    const call = currentCall.getStore()
    if (call !== undefined) waiting.set((message as FetchNews).request, call)
  })
  subscribe('undici:client:sendHeaders', (message) => {
    const { request } = message as FetchNews
    waiting.get(request)?.onSent?.()
    waiting.delete(request)
  })
}

interface FetchNews {
  readonly request: object
}

function activity(report: () => void): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      report()
      controller.enqueue(chunk)
    },
  })
}
