/**
 * Duty: what somebody outside asks of an agent itself, and not of its model: an order comes through the inbox, in its turn between the messages.
 * WORKER-ORDER-1 The history holds each order with the id of its mail. What came of it stands there too, so whoever asked reads it there.
 */
import { isObject } from '../../check/is-object.ts'
import { InvariantError } from '../../errors.ts'
import type { ConfigurationChange } from './configuration.ts'

export type Order =
  /** Asks for a summary of the agent's conversation. */
  | {
      readonly do: 'compact'
      /** What else the summary must hold. */
      readonly instruction?: string
      /** How many parts at the end of the prompt stay as they are. */
      readonly keepLast?: number
    }
  /** Begin a run on what is there, without an input. */
  | { readonly do: 'run' }
  | ConfigureOrder

/** Use another model, other settings or fewer tools from the next run on. */
export interface ConfigureOrder {
  readonly do: 'configure'
  readonly change: ConfigurationChange
}

const deeds = ['compact', 'run', 'configure'] as const satisfies readonly Order['do'][]

export const orderLetter = 'c'

/** Writes an order as `c - <json>`. */
export function encodeOrder(order: Order): string {
  return `${orderLetter}\t-\t${JSON.stringify(order)}`
}

/** Throws an error for a text that is no order which this version knows. */
export function decodeOrder(json: string): Order {
  const order: unknown = JSON.parse(json)
  if (isObject(order) && deeds.some((deed) => deed === order.do)) return order as unknown as Order
  throw new InvariantError(`an order of unknown sort ${JSON.stringify(json.slice(0, 40))} was read`)
}
