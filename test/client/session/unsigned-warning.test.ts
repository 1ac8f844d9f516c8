/** A result that goes to an address is signed by a node that has a secret: whoever creates the session learns that no node has one. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { Producer } from '../../submit/support/producer.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

/** Its sessions never end, so nothing is sent. */
const sleeper = defineWorker({ receive: (_, self) => self.after(3_600_000, 'later') })

const unsigned = /^no live node has a secret to sign the request to results\.example with: .*TROUPE_WEBHOOK_SECRET/
const secrets = [`whsec_${Buffer.alloc(32).toString('base64')}`]

test('a session whose result no live node can sign is accepted with a warning that names the host alone', async () => {
  await using troupe = await TestTroupe.start({ workers: { sleeper } })
  const notify = { url: 'https://results.example/hook?token=hidden' }
  const { warning } = await troupe.create('sleeper', 1, { notify })
  expect(warning).toMatch(unsigned)
  expect(warning).not.toContain('hidden')
  expect((await troupe.create('sleeper', 1, { notify: { queue: 'results' } })).warning).toBe(null)
  await troupe.startNode({ sleeper }, { webhooks: { secrets } })
  expect((await troupe.create('sleeper', 1, { notify })).warning).toBe(null)
  const signs = (await troupe.client.nodes()).map((node) => node.signs)
  expect(new Set(signs)).toEqual(new Set([false, true]))
})

test('of many sessions, those whose results no live node can sign have the warning', async () => {
  await using troupe = await TestTroupe.start({ workers: { sleeper } })
  const notifies = [{ url: 'https://results.example/hook' }, { queue: 'results' }, undefined]
  const made = async () => {
    const requests = notifies.map((notify) => ({ kind: 'sleeper', input: 1, notify }))
    return (await troupe.client.sessions.createMany(requests)).map(
      (one) => one.status === 'fulfilled' && one.value.warning,
    )
  }
  expect(await made()).toEqual([expect.stringMatching(unsigned), null, null])
  await troupe.startNode({ sleeper }, { webhooks: { secrets } })
  expect(await made()).toEqual([null, null, null])
})

test('a submitted job whose result no live node can sign says so in its return value', async () => {
  await using troupe = await TestTroupe.start({ workers: { sleeper } })
  await using producer = new Producer(troupe)
  const job = { kind: 'sleeper', input: 1, notify: { url: 'https://results.example/hook' } }
  expect(await producer.submit(job)).toMatchObject({ warning: expect.stringMatching(unsigned) })
  await troupe.startNode({ sleeper }, { webhooks: { secrets } })
  expect(await producer.submit(job)).not.toHaveProperty('warning')
})
