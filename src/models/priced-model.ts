/**
 * Duty: a model whose replies say what they cost.
 * PRICED-1 A model that says it itself is believed. A reply is not held up or lost because nobody knows its price.
 */
import type { Model, ModelCall, ModelReply, ModelRequest } from '../core/definition/model.ts'
import type { PriceOf } from './prices.ts'

export function pricedModel(model: Model, priceOf: PriceOf): Model {
  return {
    id: model.id,
    ...(model.settingProblem && { settingProblem: model.settingProblem.bind(model) }),
    ...(model.contextWindow && { contextWindow: model.contextWindow.bind(model) }),
    ...(model.tellsSent && { tellsSent: true }),
    async reply(request: ModelRequest, call: ModelCall) {
      const reply = await model.reply(request, call)
      return withCost(reply, await costOf(model.id, reply, priceOf))
    },
  }
}

async function costOf(id: string, reply: Partial<ModelReply> | undefined, priceOf: PriceOf): Promise<number | null> {
  const usage = reply?.usage
  if (typeof usage !== 'object' || usage === null) return null
  return usage.costMicroUsd ?? priceOf(id, usage).catch(() => null)
}

function withCost(reply: ModelReply, costMicroUsd: number | null): ModelReply {
  return costMicroUsd === null ? reply : { ...reply, usage: { ...reply.usage, costMicroUsd } }
}
