/** Idempotency keys of sessions and of messages: the one never answers for the other. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/define-worker.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a message is not lost to the key of a session', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.result({ run: 1 })
  await troupe.create('echo', 2, { idempotencyKey: `${session.rootId}/step` })
  await session.root.send('hello', { idempotencyKey: 'step' })
  expect(await session.result({ run: 2, signal: AbortSignal.timeout(3_000) })).toMatchObject({ value: 'hello' })
})

test('a session is not lost to the key of a message', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.root.send('hello', { idempotencyKey: 'step' })
  expect(await troupe.run('echo', 2, { idempotencyKey: `${session.rootId}/step` })).toMatchObject({ value: 2 })
})

test('what a key began is not begun again when it was pruned, and that is said', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const first = await troupe.create('echo', 1, { idempotencyKey: 'k' })
  await first.result()
  expect(await troupe.client.sessions.prune({ olderThanMs: 0 })).toBe(1)
  const again = await troupe.create('echo', 1, { idempotencyKey: 'k' })
  expect(again.id).toBe(first.id)
  expect(again.warning).toMatch(/^its idempotency key was used before: the session it began then has .* been pruned/)
  await expect(again.result()).rejects.toMatchObject({ code: 'session_not_found' })
  expect(await troupe.client.sessions.list()).toEqual([])
})
