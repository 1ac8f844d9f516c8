/** New sessions that begin with a message that was put aside, and what they have of its session. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { encodeInput } from '../../../src/core/worker/message/message.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { blobKey, partitionKeys, rootKey } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { blame } from '../support/blame.ts'

const agent = defineWorker({ instructions: 'x', model: scriptedModel('test/yes', () => say('yes')) })
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a message that was put aside begins a new session like its own, once, if its worker takes no more messages', async () => {
  await using troupe = await TestTroupe.connect()
  const like = { name: 'from afar', limits: { depth: 3, tokens: 77_000 }, permissions: { tools: ['look'] } }
  const session = await troupe.client.sessions.create({ kind: 'echo', input: 'hello', ...like })
  await blame(troupe, session.rootId)
  await troupe.startNode({ echo })
  await session.result()
  const [letter] = await troupe.client.deadLetters()
  const { id = '', workerId = '' } = letter ?? {}
  const anew = `troupe mailbox redrive ${workerId} --id ${id} --new-session`
  await expect(troupe.client.redrive({ letter: id })).rejects.toMatchObject({
    message: expect.stringMatching(`troupe session retry ${session.id}; or begin .*${anew}$`),
  })
  const [made, ...more] = await troupe.client.redrive({ workerId, newSession: true })
  expect({ made, more }).toMatchObject({ made: { letterId: id, status: 'redriven', messageId: null }, more: [] })
  const begun = troupe.client.sessions.get(made?.newSessionId ?? '')
  expect(await begun.result()).toMatchObject({ status: 'completed', value: 'hello' })
  const report = await begun.report()
  expect(report.session).toMatchObject({ kind: 'echo', name: 'from afar', mode: 'job', limits: like.limits })
  expect(report.workers).toMatchObject([{ permissions: { tools: ['look'] } }])
  const again = { status: 'again', newSessionId: begun.id }
  expect(await troupe.client.redrive({ letter: id, newSession: true })).toMatchObject([again])
  expect(await troupe.client.redrive({ all: true, newSession: true })).toEqual([])
  expect(await troupe.client.deadLetters()).toMatchObject([{ id, dismissed: true, redrivenAs: null }])
  expect(await troupe.client.sessions.list()).toHaveLength(2)
  expect((await troupe.client.audit()).findings).toEqual([])
})

test('a message that was put aside begins a session of its kind even if its own was pruned', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('echo', 'hello')
  await blame(troupe, session.rootId)
  await troupe.startNode({ echo })
  await session.result()
  await troupe.client.sessions.prune({ olderThanMs: 0 })
  const [made] = await troupe.client.redrive({ all: true, newSession: true })
  expect(await troupe.client.sessions.get(made?.newSessionId ?? '').result()).toMatchObject({ value: 'hello' })
})

test('a message that was put aside by a child begins a job of its kind, which tells nobody, if its session has ended', async () => {
  const parent = defineWorker<null, string>({
    receive(message, self) {
      if (message.kind === 'input') self.spawn('echo', 'hello', { name: 'first child' })
      if (message.kind === 'result') self.reply(message.status)
    },
  })
  await using troupe = await TestTroupe.connect()
  const more = { keepOpen: true, notify: { queue: 'results' }, permissions: { folder: '/srv' } }
  const session = await troupe.client.sessions.create({ kind: 'parent', input: null, ...more })
  const node = await troupe.startNode({ parent })
  const childOf = async () => (await session.report()).workers.find(({ kind }) => kind === 'echo')?.id ?? ''
  await waitUntil('the child is there', async () => (await childOf()) !== '')
  await node.stop()
  const child = await childOf()
  await blame(troupe, child)
  await troupe.startNode({ parent, echo })
  expect(await session.result()).toMatchObject({ value: 'failed' })
  await session.cancel()
  await waitUntil('the session has ended', async () => (await session.summary()).state === 'cancelled')
  const [letter] = await troupe.client.deadLetters()
  const anew = `Begin a new session with it: troupe mailbox redrive ${child} --id ${letter?.id} --new-session`
  await expect(troupe.client.redrive({ letter: letter?.id })).rejects.toThrow(anew)
  const [made] = await troupe.client.redrive({ all: true, newSession: true })
  const begun = troupe.client.sessions.get(made?.newSessionId ?? '')
  expect(await begun.result()).toMatchObject({ status: 'completed', value: 'hello' })
  const { session: facts, workers } = await begun.report()
  expect(facts).toMatchObject({ kind: 'echo', name: 'first child', mode: 'job', state: 'completed' })
  expect(workers).toMatchObject([{ permissions: { folder: '/srv' } }])
  expect(await troupe.redis.hget(rootKey(troupe.tag, begun.id), 'notify')).toBeNull()
})

test('a message that was put aside begins no session if it was put back, or holds no message', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('nobody', 'first', { keepOpen: true })
  const { dead } = partitionKeys(troupe.tag)
  const add = (worker: string, ...mail: string[]) =>
    troupe.redis.xadd(dead, '*', 'session', session.id, 'worker', worker, ...mail, 'evidence', '{}')
  const mail = ['mail', encodeInput(null, '1')]
  const back = (await add(session.rootId, ...mail)) as string
  await troupe.client.redrive({ letter: back })
  for (const [letter, why] of [
    [back, /was put back, as message inbox-1/],
    [await add(session.rootId), /holds no message.*troupe session retry/],
    [await add(session.rootId, 'mail', 'i\t-\t{"cut'), /holds a message that cannot be read.*troupe mailbox dismiss/],
  ] as const)
    await expect(troupe.client.redrive({ letter: letter as string, newSession: true })).rejects.toThrow(why)
})

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
  const message = expect.stringMatching(`is a dry run.*Send the message to session ${session.id}`)
  expect(await redrive(dry.rootId)).toMatchObject([{ refusal: { message } }])
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
