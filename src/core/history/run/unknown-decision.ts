/** Duty: what a person says of `once` calls of unknown outcome. again: run them again. failed: they took no effect. done: they took effect. */
export const unknownDecisions = ['again', 'failed', 'done'] as const
export type UnknownDecision = (typeof unknownDecisions)[number]
