import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/core/errors.ts'
import { say, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { openModels } from '../../src/models/model-source.ts'
import { endChunks, rawProvider, writeChunks } from './support/raw-provider.ts'
import { errorOf, listener, requestOf, user } from './support/surfaces.ts'

const keys = { OPENAI_API_KEY: 'sk-1234', ANTHROPIC_API_KEY: 'sk-5678' }

describe('names', () => {
  test.each([
    'openai/gpt-5',
    'openai-chat/gpt-5',
    'anthropic/claude-sonnet-4-5',
    'ollama/llama3.2:3b',
    'offline/rules',
  ])('%s opens the same model each time', (name) => {
    const models = openModels({ env: keys })
    expect(models.open(name).id).toBe(name)
    expect(models.open(name)).toBe(models.open(name))
  })

  test('a definition without a model gets the default model, or the offline model if there is no default', () => {
    expect(openModels({ env: {} }).open(undefined).id).toBe('offline/rules')
    expect(openModels({ env: keys, default: 'openai/gpt-5' }).open(undefined).id).toBe('openai/gpt-5')
  })

  test.each([
    ['openai/gpt-5', {}, 'the model openai/gpt-5 needs a key: set OPENAI_API_KEY.'],
    ['openai-chat/gpt-5', { OPENAI_API_KEY: ' ' }, 'set OPENAI_API_KEY'],
    ['anthropic/claude', { OPENAI_API_KEY: 'x' }, 'set ANTHROPIC_API_KEY'],
    ['my-lab/qwen', {}, 'set MY_LAB_BASE_URL'],
    ['my-lab/qwen', { MY_LAB_BASE_URL: 'localhost:99' }, 'MY_LAB_BASE_URL must be an http or https URL'],
    ['my-lab/qwen', { MY_LAB_BASE_URL: 'http://me:pw@host' }, 'must not hold a user or password'],
    ['openai/gpt-5', { OPENAI_API_KEY: 'sk-1\n2' }, 'OPENAI_API_KEY holds characters that no key has'],
    ['gpt-5', keys, 'the model "gpt-5" names no provider'],
    ['', keys, 'names no provider'],
    ['openai/', keys, 'is not a valid name of a model'],
    ['/gpt-5', keys, 'is not a valid name of a model'],
    ['__proto__/x', keys, 'is not a valid name of a model'],
    ['offline/other', keys, 'the offline model is offline/rules'],
    [42, keys, 'a number is not a model'],
    [{ name: 'gpt-5' }, keys, 'this object is not a model'],
    [null, keys, 'null is not a model'],
  ])('%j with %j', (name, env, message) => {
    const models = openModels({ env })
    expect(() => models.open(name)).toThrow(ConfigError)
    expect(() => models.open(name)).toThrow(message)
    expect(() => models.open(name)).not.toThrow(/sk-1|me:pw/)
  })

  test('any provider with a base URL works, without a key and with slashes in the name of the model', async () => {
    await using provider = await rawProvider((response) => {
      writeChunks(response, [{ content: 'Hi.' }])
      endChunks(response)
    })
    const model = openModels({ env: { MY_LAB_BASE_URL: provider.url } }).open('my-lab/org/qwen/7b')
    const reply = await model.reply(requestOf([user('hello')]), listener())
    expect(reply.content).toEqual([{ type: 'text', text: 'Hi.' }])
    expect(JSON.parse(provider.requests[0]?.body ?? '')).toMatchObject({ model: 'org/qwen/7b', stream: true })
    expect(provider.requests[0]?.headers.authorization).toBeUndefined()
  })

  test.each(['', '/', '/v1', '/v1/'])('the base URL of anthropic may end with %j', async (ending) => {
    const paths: (string | undefined)[] = []
    await using provider = await rawProvider((response) => {
      paths.push(response.req.url)
      response.writeHead(400).end()
    })
    const env = { ...keys, ANTHROPIC_BASE_URL: `${provider.url}/proxy${ending}` }
    await errorOf(
      openModels({ env })
        .open('anthropic/claude')
        .reply(requestOf([user('x')]), listener()),
    )
    expect(paths).toEqual(['/proxy/v1/messages'])
    expect(provider.requests[0]?.headers['x-api-key']).toBe('sk-5678')
  })
})

describe('objects', () => {
  test('a Model is used as it is', () => {
    const model = scriptedModel('test/script', [say('Hi.')])
    expect(openModels({ env: {} }).open(model)).toBe(model)
  })

  test('a language model of the SDK is wrapped once and answers', async () => {
    const usage = {
      inputTokens: { total: 5, noCache: 2, cacheRead: 3, cacheWrite: undefined },
      outputTokens: { total: 4, text: 3, reasoning: 1 },
    }
    const object = new MockLanguageModelV4({
      provider: 'acme.chat',
      modelId: 'large',
      doStream: async () => ({
        stream: simulateReadableStream({
          chunks: [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'Hi.' },
            { type: 'text-end', id: '1', providerMetadata: { acme: { id: 'x' } } },
            { type: 'tool-call', toolCallId: 'c', toolName: 'nosuch', input: '{"a":' },
            { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage },
          ],
        }),
      }),
    })
    const models = openModels({ env: {} })
    const model = models.open(object)
    expect(models.open(object)).toBe(model)
    expect(await model.reply(requestOf([user('hello')]), listener())).toEqual({
      model: 'acme/large',
      content: [
        { type: 'text', text: 'Hi.', providerOptions: { acme: { id: 'x' } } },
        { type: 'tool-call', toolCallId: 'c', toolName: 'nosuch', input: null, inputText: '{"a":' },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 5, outputTokens: 4, cacheReadTokens: 3, reasoningTokens: 1 },
    })
  })

  test('an error of such a model becomes an error of troupe without texts that look like keys', async () => {
    const object = new MockLanguageModelV4({
      provider: 'acme',
      modelId: 'large',
      doStream: async () => {
        throw new Error('socket closed, api_key=sk-very-secret-1234')
      },
    })
    const error = await errorOf(
      openModels({ env: {} })
        .open(object)
        .reply(requestOf([user('x')]), listener()),
    )
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: true })
    expect((error as Error).message).toBe('acme/large did not answer: socket closed, api_key=[redacted]')
  })
})
