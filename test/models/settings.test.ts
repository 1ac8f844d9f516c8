/** The settings of an agent, as they reach each provider over HTTP, and as they are refused. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { CallSettings } from '../../src/core/definition/tool/call-settings.ts'
import { openModels } from '../../src/models/model-source.ts'
import { KindMaker } from '../../src/runtime/node/kind-maker.ts'
import { rawProvider } from './support/raw-provider.ts'
import { errorOf, listener, openAt, requestOf, type Surface, surfaces, user } from './support/surfaces.ts'

const [chat, responses, anthropic, local] = surfaces as [Surface, Surface, Surface, Surface]

async function bodyWith(
  surface: Surface,
  settings: CallSettings,
  model = 'test-model',
): Promise<Record<string, unknown>> {
  await using server = await rawProvider((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}')
  })
  const request = requestOf([user('hello')], { settings })
  await errorOf(openAt(surface, server.url, model).reply(request, listener()))
  return JSON.parse(server.requests[0]?.body ?? '{}') as Record<string, unknown>
}

test.each<[string, Surface, CallSettings, object, string?]>([
  ['temperature', chat, { temperature: 0.3 }, { temperature: 0.3 }],
  ['temperature', responses, { temperature: 0.3 }, { temperature: 0.3 }],
  ['temperature', anthropic, { temperature: 0 }, { temperature: 0 }],
  ['temperature', local, { temperature: 2 }, { temperature: 2 }],
  ['maxOutputTokens', chat, { maxOutputTokens: 99 }, { max_tokens: 99 }],
  ['maxOutputTokens', responses, { maxOutputTokens: 99 }, { max_output_tokens: 99 }],
  ['maxOutputTokens', anthropic, { maxOutputTokens: 99 }, { max_tokens: 99 }],
  ['maxOutputTokens', local, { maxOutputTokens: 99 }, { max_tokens: 99 }],
  ['no maxOutputTokens of a model that its adapter does not know', anthropic, {}, { max_tokens: 16_384 }, 'MiniMax-M2'],
  ['no maxOutputTokens of a known model', anthropic, {}, { max_tokens: 64_000 }, 'claude-sonnet-4-5'],
  ['effort', chat, { effort: 'low' }, { reasoning_effort: 'low' }, 'gpt-5'],
  ['effort', responses, { effort: 'high' }, { reasoning: { effort: 'high' } }, 'gpt-5'],
  ['effort', local, { effort: 'low' }, { reasoning_effort: 'low' }],
  ['stop', chat, { stop: 'END' }, { stop: ['END'] }],
  ['stop', anthropic, { stop: ['END', 'STOP'] }, { stop_sequences: ['END', 'STOP'] }],
  ['stop', local, { stop: ['END'] }, { stop: ['END'] }],
  ['providerOptions', chat, { providerOptions: { openai: { user: 'ada' } } }, { user: 'ada' }],
  ['providerOptions', responses, { providerOptions: { openai: { user: 'ada' } } }, { user: 'ada', store: false }],
  ['providerOptions', local, { providerOptions: { local: { top_k: 3 } } }, { top_k: 3 }],
  ['no settings', responses, {}, { store: false }],
])('%s reaches the provider', async (_what, surface, settings, seen, model) => {
  expect(await bodyWith(surface, settings, model)).toMatchObject(seen)
})

const env = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', LOCAL_BASE_URL: 'http://127.0.0.1:1/v1' }

test.each<[string, CallSettings, RegExp]>([
  ['openai/gpt-5', { stop: 'END' }, /^kind "agent": the model openai\/gpt-5 does not take the setting stop: /],
  ['openai-chat/gpt-5', { stop: ['a', 'b', 'c', 'd', 'e'] }, /takes up to 4 texts of stop, not 5/],
  [
    'anthropic/claude-x',
    { temperature: 1.5 },
    /the model anthropic\/claude-x takes a temperature from 0 to 1, not 1.5/,
  ],
  [
    'anthropic/claude-x',
    { providerOptions: { openai: { user: 'ada' } } },
    /reads no providerOptions of openai: write providerOptions: \{ anthropic: /,
  ],
  [
    'local/m',
    { providerOptions: { locl: { top_k: 3 } } },
    /reads no providerOptions of locl: write providerOptions: \{ local: /,
  ],
  [
    'openai/gpt-5',
    { providerOptions: { openai: { store: true } } },
    /the option store cannot be set for openai\/gpt-5: troupe keeps the conversation/,
  ],
])('%s with %j is refused when the kind is opened', (model, settings, sentence) => {
  const agent = defineWorker({ instructions: 'x', model, settings })
  expect(() => new KindMaker(openModels({ env })).make('agent', agent)).toThrow(sentence)
})

test.each<[string, CallSettings]>([
  ['anthropic/claude-x', { providerOptions: { openai: { user: 'ada' }, anthropic: { effort: 'low' } } }],
  ['offline/rules', { temperature: 0.1, stop: 'END', effort: 'high' }],
  ['local/m', { providerOptions: { openaiCompatible: { user: 'ada' } } }],
])('%s with %j is accepted', (model, settings) => {
  const agent = defineWorker({ instructions: 'x', model, settings })
  expect(() => new KindMaker(openModels({ env })).make('agent', agent)).not.toThrow()
})

test.each<[Surface, string, CallSettings, RegExp]>([
  [
    chat,
    'gpt-5',
    { temperature: 0.3 },
    /^the model openai-chat\/gpt-5 does not take the setting temperature: temperature is not supported for reasoning models\. Remove it/,
  ],
  [responses, 'gpt-5', { temperature: 0.3 }, /does not take the setting temperature: /],
  [responses, 'gpt-4o', { effort: 'high' }, /does not take the setting effort: /],
])(
  'a setting that the adapter for $provider drops for %s fails the call',
  async (surface, model, settings, sentence) => {
    await using server = await rawProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
    })
    const request = requestOf([user('hello')], { settings })
    const error = await errorOf(openAt(surface, server.url, model).reply(request, listener()))
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringMatching(sentence) as string })
  },
)
