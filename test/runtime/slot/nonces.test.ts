/** Which nonce each claim of a slot has. */
import { expect, test } from 'vitest'
import { ClaimNonces } from '../../../src/runtime/slot/nonces.ts'

test('each claim has its own nonce, once the claim before was answered (NONCE-1)', () => {
  const nonces = new ClaimNonces(2)
  const seen = Array.from({ length: 2_000 }, (_, number) => {
    const nonce = nonces.next(number % 2)
    nonces.noteAnswer(number % 2)
    return nonce
  })
  expect(new Set(seen).size).toBe(2_000)
  expect(seen[0]).toMatch(/^[\da-z]+\.[\w-]{8}$/)
})

test('a slot whose claim got no answer repeats its nonce, and no other slot does (NONCE-2)', () => {
  const nonces = new ClaimNonces(2)
  const first = nonces.next(0)
  expect([nonces.isUnanswered(0), nonces.isUnanswered(1)]).toEqual([true, false])
  expect([nonces.next(0), nonces.next(1) === first]).toEqual([first, false])
  nonces.noteAnswer(0)
  expect([nonces.isUnanswered(0), nonces.next(0) === first]).toEqual([false, false])
})
