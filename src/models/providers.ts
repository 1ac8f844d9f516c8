/**
 * Duty: know the providers by name: their address, their key, and the package that speaks their protocol.
 * PROVIDER-1 A missing or wrong setting is reported when a model is opened. Packages are loaded with the first call.
 * PROVIDER-2 Addresses and keys are always passed to the packages, which would otherwise read the environment themselves.
 */

import type { Model, ModelSettings } from '../core/definition/model.ts'
import { ConfigError } from '../core/errors.ts'
import type { ProviderOptions } from '../core/history/chat/chat-message.ts'
import { rememberSecret } from '../core/secret/known-secrets.ts'
import { replyFetch } from './http/reply-fetch.ts'
import { anthropicProtocol, chatProtocol, type ReplyProtocol, responsesProtocol } from './http/reply-protocol.ts'
import { type SdkLanguageModel, sdkModel } from './sdk/sdk-model.ts'
import type { JsonSchema, SettingRules } from './settings.ts'

type Environment = ModelSettings['env']

interface Endpoint {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  readonly key: string | undefined
  readonly fetch: typeof fetch
}

interface Provider {
  /** Prefix of its variables: `OPENAI` for OPENAI_API_KEY and OPENAI_BASE_URL. */
  readonly prefix: string
  /** If absent, the variable with the base URL must be set. */
  readonly baseUrl?: string
  readonly needsKey: boolean
  /** The path with which the address must end. It is added if it is missing. */
  readonly path?: string
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, boolean>>>>
  readonly settingRules?: SettingRules
  /** How many tokens a reply of this model may have at most. Undefined if the adapter knows better. */
  outputTokens?(model: string): number | undefined
  /** Options for which the settings of a kind say nothing. */
  defaultOptions?(model: string): ProviderOptions | undefined
  /** Set if it depends on the model whether replies can be held to a schema. */
  holdTo?(model: string, schema: JsonSchema): Promise<ProviderOptions | null>
  readonly protocol: ReplyProtocol
  load(endpoint: Endpoint): Promise<SdkLanguageModel>
}

/** The adapter sends 4096 for models of others that speak this protocol. Their replies, with all their reasoning, would be cut. */
const anthropicOutputTokens = 16_384

/**
 * The provider caches the prompt up to its end, and finds it again as the beginning of the next one. The mark stands beside the messages and not in
 * one of them, so that these stay the same from request to request. Other providers that speak this protocol may not know the mark.
 */
const cachedPrompt: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** In its strict form a provider refuses schemas with optional fields. */
const notStrictly = (name: string) => (): ProviderOptions => ({ [name]: { strictJsonSchema: false } })

/** For a model without such a form of its own, its adapter would have the reply written as a call of a tool, which all replies would have to call. */
async function natively(model: string, schema: JsonSchema): Promise<ProviderOptions | null> {
  const { getModelCapabilities, supportsNativeStructuredOutputSchema } = await import('@ai-sdk/anthropic/internal')
  const isNative = getModelCapabilities(model).supportsStructuredOutput
  return isNative && supportsNativeStructuredOutputSchema(schema)
    ? { anthropic: { structuredOutputMode: 'outputFormat' } }
    : null
}

const openai = { prefix: 'OPENAI', baseUrl: 'https://api.openai.com/v1', needsKey: true }

const providers = new Map<string, Provider>([
  // A history must not depend on data that a provider keeps. Everything is sent each time, reasoning in encrypted form.
  [
    'openai',
    {
      ...openai,
      providerOptions: { openai: { store: false } },
      settingRules: {
        optionNames: ['openai'],
        effortOption: 'reasoningEffort',
        stopsMax: 0,
        holdTo: notStrictly('openai'),
        forbidden: ['store', 'conversation', 'previousResponseId'],
      },
      protocol: responsesProtocol,
      load: loadResponses,
    },
  ],
  [
    'openai-chat',
    {
      ...openai,
      settingRules: { optionNames: ['openai'], stopsMax: 4, holdTo: notStrictly('openai') },
      protocol: chatProtocol,
      load: loadChat,
    },
  ],
  [
    'anthropic',
    {
      prefix: 'ANTHROPIC',
      baseUrl: 'https://api.anthropic.com',
      needsKey: true,
      path: '/v1',
      settingRules: { optionNames: ['anthropic'], temperatureMax: 1 },
      outputTokens: (model) => (model.includes('claude-') ? undefined : anthropicOutputTokens),
      defaultOptions: (model) => (model.includes('claude-') ? cachedPrompt : undefined),
      holdTo: natively,
      protocol: anthropicProtocol,
      load: loadAnthropic,
    },
  ],
  [
    'ollama',
    {
      prefix: 'OLLAMA',
      baseUrl: 'http://127.0.0.1:11434/v1',
      needsKey: false,
      protocol: chatProtocol,
      load: loadCompatible,
    },
  ],
])

export function openProviderModel(name: string, model: string, env: Environment): Model {
  const provider = providers.get(name) ?? {
    prefix: prefixOf(name),
    needsKey: false,
    protocol: chatProtocol,
    load: loadCompatible,
  }
  const id = `${name}/${model}`
  const keyVariable = `${provider.prefix}_API_KEY`
  const key = readKey(keyVariable, env, provider.needsKey, id)
  const baseUrl = readBaseUrl(provider, env, id)
  const endpoint = { provider: name, model, baseUrl, key, fetch: replyFetch(id, provider.protocol) }
  return sdkModel({
    id,
    secrets: key === undefined ? [] : [key],
    keyVariable,
    providerOptions: provider.providerOptions,
    settingRules: rulesOf(name, provider, model),
    tellsSent: true,
    load: () => provider.load(endpoint),
  })
}

function rulesOf(name: string, provider: Provider, model: string): SettingRules {
  const rules = provider.settingRules ?? {
    optionNames: [name, 'openaiCompatible'],
    holdTo: notStrictly('openaiCompatible'),
    // Most of these servers let the model write nothing but what the schema allows.
    heldCallsNoTools: true,
  }
  const most = provider.outputTokens?.(model)
  const options = provider.defaultOptions?.(model)
  return {
    ...rules,
    ...(most === undefined ? {} : { outputTokens: most }),
    ...(options === undefined ? {} : { defaultOptions: options }),
    ...(provider.holdTo && { holdTo: (schema: JsonSchema) => provider.holdTo?.(model, schema) ?? null }),
  }
}

/** Names of the variables that hold a key of a provider that is known here. */
export function providerKeysIn(env: Environment): string[] {
  const names = [...providers.values()].map(({ prefix }) => `${prefix}_API_KEY`)
  return [...new Set(names)].filter((name) => (env[name]?.trim() ?? '') !== '')
}

function prefixOf(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
}

function readKey(variable: string, env: Environment, isNeeded: boolean, id: string): string | undefined {
  const key = env[variable]?.trim()
  if (key === undefined || key === '') {
    if (isNeeded) throw new ConfigError(`the model ${id} needs a key: set ${variable}.`)
    return undefined
  }
  rememberSecret(key)
  // fetch cannot send such a key, and its error would quote the key.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigError(`${variable} holds characters that no key has, such as spaces: copy the key again.`)
  }
  return key
}

function readBaseUrl({ prefix, baseUrl, path }: Provider, env: Environment, id: string): string {
  const variable = `${prefix}_BASE_URL`
  const given = env[variable]?.trim()
  const text = given === undefined || given === '' ? baseUrl : given
  if (text === undefined) {
    throw new ConfigError(
      `the model ${id} needs an address: set ${variable} to one that speaks the OpenAI chat protocol, like https://host/v1.`,
    )
  }
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new ConfigError(`${variable} must be an http or https URL, like https://host/v1.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigError(`${variable} must not hold a user or password: set ${prefix}_API_KEY.`)
  }
  const plain = text.replace(/\/+$/, '')
  return path === undefined || plain.endsWith(path) ? plain : `${plain}${path}`
}

async function loadResponses({ model, baseUrl, key, fetch }: Endpoint): Promise<SdkLanguageModel> {
  const { createOpenAI } = await import('@ai-sdk/openai')
  return createOpenAI({ baseURL: baseUrl, apiKey: key ?? '', fetch }).responses(model)
}

async function loadChat({ model, baseUrl, key, fetch }: Endpoint): Promise<SdkLanguageModel> {
  const { createOpenAI } = await import('@ai-sdk/openai')
  return createOpenAI({ baseURL: baseUrl, apiKey: key ?? '', fetch }).chat(model)
}

async function loadAnthropic({ model, baseUrl, key, fetch }: Endpoint): Promise<SdkLanguageModel> {
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  return createAnthropic({ baseURL: baseUrl, apiKey: key ?? '', fetch })(model)
}

async function loadCompatible({ provider, model, baseUrl, key, fetch }: Endpoint): Promise<SdkLanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({
    name: provider,
    baseURL: baseUrl,
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(key === undefined ? {} : { apiKey: key }),
  })(model)
}
