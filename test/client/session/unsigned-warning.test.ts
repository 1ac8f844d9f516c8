/** A result that goes to an address is signed by a node that has a secret: whoever creates the session learns that no node has one. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

/** Its sessions never end, so nothing is sent. */
const sleeper = defineWorker({ receive: (_, self) => self.after(3_600_000, 'later') })

test('a session whose result no live node can sign is accepted with a warning that names the host alone', async () => {
  await using troupe = await TestTroupe.start({ workers: { sleeper } })
  const notify = { url: 'https://results.example/hook?token=hidden' }
  const { warning } = await troupe.create('sleeper', 1, { notify })
  expect(warning).toMatch(
    /^no live node has a secret to sign the request to results\.example with: .*TROUPE_WEBHOOK_SECRET/,
  )
  expect(warning).not.toContain('hidden')
  expect((await troupe.create('sleeper', 1, { notify: { queue: 'results' } })).warning).toBe(null)
  const secrets = [`whsec_${Buffer.alloc(32).toString('base64')}`]
  await troupe.startNode({ sleeper }, { webhooks: { secrets } })
  expect((await troupe.create('sleeper', 1, { notify })).warning).toBe(null)
  const signs = (await troupe.client.nodes()).map((node) => node.signs)
  expect(new Set(signs)).toEqual(new Set([false, true]))
})
