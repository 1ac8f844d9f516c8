/** What a new session has of the session whose message was put aside. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { blobKey, rootKey } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { blame } from '../support/blame.ts'

const agent = defineWorker({ instructions: 'x', model: scriptedModel('test/yes', () => say('yes')) })
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

test('a message that was put aside begins a new session with the policy of its own, and none if its own is a dry run', async () => {
  await using troupe = await TestTroupe.connect()
  const said = { approval: 'readOnly', whenNobodyAnswers: 'fail' } as const
  const session = await troupe.client.sessions.create({ kind: 'echo', input: 1, keepOpen: true, ...said })
  const dry = await session.fork({ dryRun: true })
  for (const { rootId } of [session, dry]) await blame(troupe, rootId)
  await troupe.startNode({ echo })
  for (const one of [session, dry]) await one.result({ run: 1 })
  const redrive = (workerId: string) => troupe.client.redrive({ workerId, newSession: true })
  const [made] = await redrive(session.rootId)
  const begun = await troupe.client.sessions.get(made?.newSessionId ?? '').summary()
  expect(begun.approval).toMatchObject({ policy: 'readOnly', whenNobodyAnswers: 'fail' })
  expect(await redrive(dry.rootId)).toMatchObject([{ refusal: { message: expect.stringMatching(/is a dry run/) } }])
})

test('a message that was put aside begins a new session with the share, the notice and the configuration of its own, and one alone, whatever is changed then', async () => {
  await using troupe = await TestTroupe.connect()
  const said = { weight: 3, priority: 2, notify: { queue: `results-${troupe.namespace}` } } as const
  const session = await troupe.client.sessions.create({ kind: 'agent', input: 'x', keepOpen: true, ...said })
  await blame(troupe, session.rootId)
  await troupe.startNode({ agent })
  await session.result({ run: 1 })
  const configured = await session.root.configure({ settings: { temperature: 1 } })
  const [letter] = await troupe.client.deadLetters()
  const redrive = () => troupe.client.redrive({ letter: letter?.id, newSession: true })
  const [made] = await redrive()
  const { sessions } = troupe.client
  const begun = sessions.get(made?.newSessionId ?? '')
  expect(made?.status).toBe('redriven')
  expect((await begun.summary()).turnShare).toEqual({ weight: 3, priority: 2 })
  expect((await begun.root.report()).configured).toEqual(configured)
  expect(await troupe.redis.hget(rootKey(troupe.tag, begun.id), 'notify')).toBe(JSON.stringify(said.notify))
  await session.limit({ tokens: 10_000 })
  expect(await redrive()).toMatchObject([{ status: 'again', newSessionId: begun.id }])
})
