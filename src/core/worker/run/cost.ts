/** Duty: what model calls cost, as records hold it: `<millionths of a dollar> <calls whose price nobody knows>`. */

export interface Cost {
  /** In millionths of a dollar, each call at the price of its time. */
  readonly costMicroUsd: number
  /** Model calls that are not in it, because nobody knows the price of their model. */
  readonly unpricedModelCalls: number
}

/** A model call that was answered, and what it cost. */
export interface CallCost {
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  /** The cost in millionths of a dollar; null if nobody knows the price of the model. */
  readonly microUsd: number | null
}

export const costForm = /^\d+ \d+$/

export function decodeCost(text: string): Cost {
  const [costMicroUsd, unpricedModelCalls] = text.split(' ').map(Number) as [number, number]
  return { costMicroUsd, unpricedModelCalls }
}

export function addCost(one: Cost, other: Cost): Cost {
  return {
    costMicroUsd: one.costMicroUsd + other.costMicroUsd,
    unpricedModelCalls: one.unpricedModelCalls + other.unpricedModelCalls,
  }
}

/** The cost in a record, for reports: nothing before the first call, and unknown prices only if there are some. */
export function reportedCost(cost: Cost | null): Partial<Cost> {
  if (cost === null) return {}
  const { costMicroUsd, unpricedModelCalls } = cost
  return { costMicroUsd, ...(unpricedModelCalls > 0 && { unpricedModelCalls }) }
}
