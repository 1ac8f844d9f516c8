/**
 * Duty: nonces of claims: `<number>.<random>`. Random, so that no other node can hold the same; numbered, so that a duplicate of a
 * claim that arrives late is told from the claims after it.
 */
import { drawBytes } from '../core/random-bytes.ts'

let count = 0

export function newNonce(): string {
  return `${(count++).toString(36)}.${drawBytes(6).toString('base64url')}`
}
