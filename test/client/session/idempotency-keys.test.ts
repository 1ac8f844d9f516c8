/** Idempotency keys of sessions and of messages: a key of one sort never answers for the other sort. */
import { expect, test } from 'vitest'
import { type CreateSession, Submission } from '../../../src/client/submission/submission.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { policy } from '../../../src/core/policy.ts'
import { type Place, partitionKeys, placesOf } from '../../../src/store/keys.ts'
import type { OpenPlace } from '../../../src/store/places.ts'
import type { ScriptCaller } from '../../../src/store/script/script.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'

/** Sends a message as a sender does that got no answer for an earlier message under the key. */
const fixedAnswer = (answer: readonly string[]) => ({ call: async () => [...answer] }) as unknown as ScriptCaller

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

const usedBefore =
  'its idempotency key was used before: this is the place of the message that was sent then, and nothing was added.'
const usedForElse = usedBefore.replace(':', ', for something else:')

test('a message is not lost because a session has its key', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.result({ run: 1 })
  await troupe.create('echo', 2, { idempotencyKey: `${session.rootId}/step` })
  await session.root.send('hello', { idempotencyKey: 'step' })
  expect(await awaitResult(session, { run: 2 })).toMatchObject({ value: 'hello' })
})

test('a message is not lost to the key of another message, even if both keys were cut within an emoji', async () => {
  await using troupe = await TestTroupe.connect()
  const { root } = await troupe.create('nobody', 1, { keepOpen: true })
  const send = (idempotencyKey: string) => root.send('hello', { idempotencyKey })
  expect(await send('\ud83d')).toEqual({ position: 1, again: false, steers: false, warning: null })
  expect(await send('\ud83e')).toEqual({ position: 2, again: false, steers: false, warning: null })
  expect(await send('\ufffd')).toEqual({ position: 3, again: false, steers: false, warning: null })
  expect(await send('\ud83d')).toEqual({ position: 1, again: true, steers: false, warning: usedBefore })
})

test('a session is not lost because a message has its key', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await session.root.send('hello', { idempotencyKey: 'step' })
  expect(await troupe.run('echo', 2, { idempotencyKey: `${session.rootId}/step` })).toMatchObject({ value: 2 })
})

test('a key used for one worker is free for another', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  for (const value of ['one', 'other']) {
    const session = await troupe.create('echo', 1, { keepOpen: true })
    expect(await session.root.send(value, { idempotencyKey: 'step' })).toEqual({
      position: 1,
      again: false,
      steers: false,
      warning: null,
    })
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ value })
  }
})

test('a key of the caller is known for a day, a key of the library for ten minutes', async () => {
  await using troupe = await TestTroupe.connect()
  const { root } = await troupe.create('nobody', 1, { keepOpen: true })
  const livesMs = async () => {
    const keys = await troupe.redis.keys(partitionKeys(troupe.tag).idem('*'))
    return Promise.all(keys.map((key) => troupe.redis.pttl(key)))
  }
  await root.send('without')
  const [made = 0] = await livesMs()
  expect(made).toBeGreaterThan(0)
  expect(made).toBeLessThanOrEqual(600_000)
  await root.send('with', { idempotencyKey: 'step' })
  expect(Math.max(...(await livesMs()))).toBeGreaterThan(23 * 3_600_000)
})

test('a message whose answer was lost and that is sent again does not count as sent before', async () => {
  await using troupe = await TestTroupe.connect()
  const { root } = await troupe.create('nobody', 1, { keepOpen: true })
  const { redis, namespace } = troupe
  const waker = { wake() {} }
  const caller = fixedAnswer(['again', '3', '', ''])
  const [place] = placesOf(namespace, 1) as [Place]
  const first = { ...place, redis, caller }
  const places = { first, map: <T>(make: (place: OpenPlace) => T) => [make(first)] }
  const submission = new Submission({ places, namespace, waker, policy })
  const { sent: made } = await submission.send(root.id, 'x')
  expect(made).toEqual({ position: 3, again: false, steers: false, warning: null })
  const { sent: given } = await submission.send(root.id, 'x', { idempotencyKey: 'step' })
  expect(given).toEqual({ position: 3, again: true, steers: false, warning: usedBefore })
})

test('a key whose session was pruned does not create another, and the error says so', async () => {
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

test.each<[string, Partial<CreateSession>]>([
  ['input', { input: 2 }],
  ['kind', { kind: 'other' }],
  ['name', { name: 'other' }],
  ['mode', { keepOpen: true }],
  ['limits', { limits: { workers: 7 } }],
  ['limit on spending', { limits: { tokens: 7 } }],
  ['permissions', { permissions: { tools: ['look'] } }],
  ['policy for approvals', { approval: 'auto' }],
])('a key that was used with another %s is reported as used for something else', async (_, more) => {
  await using troupe = await TestTroupe.connect()
  const asked = { kind: 'echo', name: 'echo', input: 1, idempotencyKey: 'k' }
  const first = await troupe.client.sessions.create(asked)
  const again = await troupe.client.sessions.create(asked)
  expect([again.id, again.warning]).toEqual([first.id, expect.stringMatching(/^its idempotency key was used before: /)])
  const other = await troupe.client.sessions.create({ ...asked, ...more })
  expect([other.id, other.warning]).toEqual([first.id, expect.stringContaining('before, for something else: ')])
})

test('a request under a key is stored in a lasting form: it is recognised after an upgrade within the schema', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, tag } = troupe
  const asked = { kind: 'echo', name: 'first', input: { a: 1 }, keepOpen: true, permissions: { tools: ['look'] } }
  await troupe.client.sessions.create({ ...asked, idempotencyKey: 'k' })
  const [key] = await redis.keys(`${partitionKeys(tag).idem('')}*`)
  expect((await redis.get(key as string))?.split(' ')[1]).toBe('aUwnMOoR3_76PMgvS7eVXX')
})

test('a key that was used for another message is refused as used for something else', async () => {
  await using troupe = await TestTroupe.connect()
  const { root } = await troupe.create('nobody', 1, { keepOpen: true })
  const send = (value: unknown) => root.send(value, { idempotencyKey: 'step' })
  expect(await send({ pay: 5 })).toEqual({ position: 1, again: false, steers: false, warning: null })
  expect(await send({ pay: 5 })).toEqual({ position: 1, again: true, steers: false, warning: usedBefore })
  expect(await send({ pay: 50 })).toEqual({ position: 1, again: true, steers: false, warning: usedForElse })
  expect((await root.mailbox()).map(({ message }) => message.value)).toEqual([1, { pay: 5 }])
})
