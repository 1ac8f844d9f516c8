/** Duty: how a delivery stands: it waits for a node, is being sent, waits for its next attempt, was accepted, or was given up. */
export const deliveryStates = ['waiting', 'sending', 'retrying', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]
