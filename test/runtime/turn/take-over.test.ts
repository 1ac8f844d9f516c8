/** A worker that another turn takes over: its history, its report and its events say so, in order. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Entry } from '../../../src/core/history/entry.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { entryLine } from '../../../src/words/lines/entry-line.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'

const handler = defineWorker({
  receive(message, self) {
    if (message.kind === 'timer') self.reply(null)
    else self.after(1, null)
  },
})
const agent = defineWorker({ instructions: 'x', model: recordedModel('test/m', () => say('done')) })

/** Leaves a session whose root was started and interrupted as often as `starts` says. No other node holds it. */
async function interrupted(troupe: TestTroupe, kind: string, starts: number, lastWords?: string) {
  const session = await troupe.create(kind, 'one', { limits: { workers: 1 } })
  const keys = workerKeys(troupe.tag, session.rootId)
  const fields = { token: `${starts}:`, crashes: String(starts), ...(lastWords === undefined ? {} : { lastWords }) }
  await troupe.redis.hset(keys.record, fields)
  return session
}

const notes = (entries: readonly Entry[]) => entries.map(({ takenOver }) => takenOver ?? null)

test.each(['handler', 'agent'])(
  'the first entry of the turn of %s names the start and the node, and no other entry does',
  async (kind) => {
    await using troupe = await TestTroupe.connect()
    const session = await interrupted(troupe, kind, 1)
    const { id: node } = await troupe.startNode({ handler, agent })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    const entries = await troupe.history(session.rootId)
    expect(entries.length).toBeGreaterThan(1)
    expect(notes(entries)).toEqual([{ start: 2, node }, ...entries.slice(1).map(() => null)])
    expect(entryLine(0, entries[0] as Entry)).toContain(`taken over by node ${node} (start 2): `)
    expect(await session.root.report()).toMatchObject({ interrupted: 1, starts: 0 })
    expect((await troupe.client.audit()).findings).toEqual([])
  },
)

test.each(['refused', 'cancelled'])(
  'the entries of a turn whose first step is %s name the start and the node',
  async (how) => {
    await using troupe = await TestTroupe.connect()
    const session = await interrupted(troupe, 'spawner', 1)
    const spawner = defineWorker({
      async receive(_, self) {
        if (how === 'cancelled') await session.cancel()
        self.spawn('handler', 1)
      },
    })
    const { id: node } = await troupe.startNode({ handler, spawner })
    const status = how === 'refused' ? 'failed' : 'cancelled'
    expect(await awaitResult(session)).toMatchObject({ status })
    const [first, ...others] = notes(await troupe.history(session.rootId))
    expect([first, ...others]).toEqual([{ start: 2, node }, ...others.map(() => null)])
  },
)

test('a worker whose start did not count has the last words of the node that died', async () => {
  await using troupe = await TestTroupe.connect()
  const session = await interrupted(troupe, 'handler', 0, 'node n-1 (host, pid 1) ended: "x"')
  const { id: node } = await troupe.startNode({ handler })
  await awaitResult(session)
  const [first] = await troupe.history(session.rootId)
  expect(first).toMatchObject({ takenOver: { start: 1, node, lastWords: expect.stringContaining('n-1') } })
  expect(entryLine(0, first as Entry)).toContain('(start 1; last words: node n-1 (host, pid 1) ended: "x"): received')
})

test('a worker that nobody interrupted has no entry about an interruption', async () => {
  await using troupe = await TestTroupe.start({ workers: { handler } })
  const session = await troupe.create('handler')
  await session.result()
  expect(notes(await troupe.history(session.rootId)).filter((note) => note !== null)).toEqual([])
  expect(await session.root.report()).toMatchObject({ interrupted: 0 })
  expect(await troupe.redis.zcard(partitionKeys(troupe.tag).leases)).toBe(0)
})
