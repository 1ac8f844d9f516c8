/** Media that stand beside a message which was put aside. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { blobKey } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { blame } from '../support/blame.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a message that was put aside begins a new session with the media that its own keeps beside it', async () => {
  await using troupe = await TestTroupe.connect()
  const bytes = Buffer.alloc(800_000, 'a\n')
  const session = await troupe.create('echo', [{ type: 'file', mediaType: 'text/plain', data: bytes }])
  await blame(troupe, session.rootId)
  await troupe.startNode({ echo })
  await session.result()
  const [made] = await troupe.client.redrive({ all: true, newSession: true })
  const begun = made?.newSessionId ?? ''
  const { value } = (await troupe.client.sessions.get(begun).result()) as { readonly value?: unknown }
  const [{ url }] = value as [{ readonly url: string }]
  expect(url).toMatch(/^blob:/)
  expect(await troupe.redis.exists(blobKey(troupe.tag, begun, url.slice(5)))).toBe(1)
})
