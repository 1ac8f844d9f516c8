/** Duty: what each adapter would send for a prompt, without a server: the body of its request. */
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import type { Model, ModelRequest } from '../../../src/core/definition/model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import type { Protocol } from './request-rules.ts'
import { listener, openAt } from './surfaces.ts'

export interface Sender {
  readonly name: string
  readonly protocol: Protocol
  /** `provider/model`. */
  readonly id: string
  /** The body of the request. Throws what the model throws if it sends none. */
  readonly bodyOf: (request: ModelRequest) => Promise<unknown>
}

/** A model, with a fetch that keeps the body and refuses the request. */
function sender(name: string, protocol: Protocol, open: (fetch: typeof globalThis.fetch) => Model): Sender {
  let sent: unknown
  const keep = async (_input: unknown, init?: RequestInit) => {
    sent = JSON.parse(init?.body as string)
    return new Response('{"error":{"message":"No.","type":"no","code":400,"status":"no"},"message":"No."}', {
      status: 400,
      headers: { 'content-type': 'application/json' },
    })
  }
  const fetch = keep as typeof globalThis.fetch
  const model = open(fetch)
  return {
    name,
    protocol,
    id: model.id,
    bodyOf: async (request) => {
      sent = undefined
      const own = globalThis.fetch
      globalThis.fetch = fetch
      try {
        await model.reply(request, listener())
      } catch (error) {
        if (sent === undefined) throw error
      } finally {
        globalThis.fetch = own
      }
      return sent
    },
  }
}

const own = (provider: string, path: string) => () => openAt({ provider, path }, 'http://127.0.0.1:9')
const wrapped = (make: (fetch: typeof globalThis.fetch) => unknown) => (fetch: typeof globalThis.fetch) =>
  openModels({ env: {} }).open(make(fetch))

/** All protocols that a prompt may be sent by, through the adapters that send it. */
export const senders: readonly Sender[] = [
  sender('openai-chat', 'openaiChat', own('openai-chat', '')),
  sender('a server that speaks the chat protocol', 'openaiChat', own('local', '')),
  sender('openai', 'openaiResponses', own('openai', '')),
  sender('anthropic', 'anthropic', own('anthropic', '')),
  sender(
    'bedrock',
    'bedrock',
    wrapped((fetch) =>
      createAmazonBedrock({ region: 'eu-west-1', apiKey: 'key', fetch })('anthropic.claude-test-v1:0'),
    ),
  ),
  sender(
    'bedrock, a model of another maker',
    'bedrock',
    wrapped((fetch) => createAmazonBedrock({ region: 'eu-west-1', apiKey: 'key', fetch })('amazon.nova-test')),
  ),
  sender(
    'gemini',
    'gemini',
    wrapped((fetch) => createGoogleGenerativeAI({ apiKey: 'key', fetch })('gemini-test')),
  ),
]
