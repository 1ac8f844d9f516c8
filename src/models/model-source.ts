/**
 * Duty: open the model that a definition names. The same name opens the same model each time, so that its caches last.
 */

import { isModel, type Model, type ModelSettings, type ModelSource } from '../core/definition/model.ts'
import { ConfigError } from '../core/errors.ts'
import { offlineId, offlineModel } from './local/offline-model.ts'
import { pricedModel } from './priced-model.ts'
import { priceList } from './prices.ts'
import { openProviderModel } from './providers.ts'
import { type SdkLanguageModel, sdkModel } from './sdk/sdk-model.ts'

export function openModels(settings: ModelSettings): ModelSource {
  const named = new Map<string, Model>()
  const priceOf = priceList(settings.prices)
  const hasOwnPrice = ({ id }: Model) => Object.hasOwn(settings.prices ?? {}, id)
  const wrapped = new WeakMap<object, Model>()
  return {
    open(model) {
      // A model that somebody wrote says itself what a call cost, or has a price of its own; the table knows nothing of it.
      if (isModel(model)) return hasOwnPrice(model) ? kept(wrapped, model, () => pricedModel(model, priceOf)) : model
      if (isLanguageModel(model)) return kept(wrapped, model, () => pricedModel(wrap(model), priceOf))
      const name = model === undefined ? (settings.default ?? offlineId) : model
      if (typeof name !== 'string') throw new ConfigError(`${describe(model)} is not a model: ${whatToWrite}`)
      return kept(named, name, () => pricedModel(openNamed(name, settings.env), priceOf))
    },
  }
}

const whatToWrite = 'write provider/model, like anthropic/claude-sonnet-4-5, or pass a language model of the AI SDK.'

function openNamed(name: string, env: ModelSettings['env']): Model {
  if (name === offlineId) return offlineModel()
  const slash = name.indexOf('/')
  const [provider, model] = [name.slice(0, Math.max(slash, 0)), name.slice(slash + 1)]
  if (provider === 'offline')
    throw new ConfigError(`there is no model ${quote(name)}: the offline model is ${offlineId}.`)
  if (slash < 0) throw new ConfigError(`the model ${quote(name)} names no provider: ${whatToWrite}`)
  if (!/^[A-Za-z][\w.-]{0,63}$/.test(provider) || !/^[\x21-\x7e]{1,256}$/.test(model)) {
    throw new ConfigError(`${quote(name)} is not a valid name of a model: ${whatToWrite}`)
  }
  return openProviderModel(provider, model, env)
}

/** The keys of such a model are unknown here, so errors are only searched for texts that look like keys. */
function wrap(model: SdkLanguageModel): Model {
  const id = `${model.provider.split('.', 1)[0]}/${model.modelId}`
  return sdkModel({ id, secrets: [], load: async () => model })
}

function isLanguageModel(value: unknown): value is SdkLanguageModel {
  return (
    typeof value === 'object' &&
    value !== null &&
    'specificationVersion' in value &&
    'doStream' in value &&
    typeof value.doStream === 'function'
  )
}

interface Keeper<Key> {
  get(key: Key): Model | undefined
  set(key: Key, model: Model): unknown
}

function kept<Key>(models: Keeper<Key>, key: Key, open: () => Model): Model {
  const known = models.get(key)
  if (known !== undefined) return known
  const opened = open()
  models.set(key, opened)
  return opened
}

function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)} …` : name)
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? 'this object' : `a ${typeof value}`
}
