/** Approvals over deaths: of nodes, of Redis, and at each commit of the run that asks. What was approved takes effect once. */
import { describe, expect, test } from 'vitest'
import type { Ask } from '../../../src/client/person/asks.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { ConflictError } from '../../../src/core/errors.ts'
import { askKey, workerKeys } from '../../../src/store/keys.ts'
import { Harness } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const program = new URL('../../programs/node/approval-node.ts', import.meta.url)
const changed = { decision: 'approve', arguments: { amount: 7 } }
const paid = (harness: Harness) => harness.ledger.lines('paid').map(({ note }) => (note as { amount: number }).amount)

function openAsk(session: Session, unlike = ''): Promise<Ask> {
  return waitUntil('it asks', async () => (await session.asks()).find(({ id }) => id !== unlike) ?? false)
}

/** Waits until the worker has committed that it waits, and its node holds nothing of it. */
async function parked(harness: Harness, { workerId }: Ask): Promise<void> {
  await waitUntil('it is parked', async () => {
    const { status } = await harness.client.workers.get(workerId).report()
    return status === 'parked'
  })
}

async function expectSound(harness: Harness): Promise<void> {
  expect((await harness.client.audit()).findings).toEqual([])
  await expectInvariants(harness.redis, harness.namespace)
}

describe('a grandchild that needs an approval', () => {
  test("a grandchild's call is approved in the inbox of its session after every process and Redis were restarted, and pays once", async () => {
    await using harness = await Harness.open({ ownRedis: {} })
    const before = await harness.start('a', { program })
    const session = await harness.client.sessions.create({ kind: 'top', input: 'go' })
    const ask = await openAsk(session)
    await parked(harness, ask)
    await before.kill()
    await harness.killRedis()
    await harness.restartRedis()
    await harness.start('b', { program })
    const { depth } = await harness.client.workers.get(ask.workerId).report()
    expect(depth).toBe(2)
    expect(await session.asks()).toMatchObject([
      { id: ask.id, workerKind: 'leaf', details: { arguments: { amount: 100 } } },
    ])
    await harness.client.asks.answer(ask.id, changed, { by: 'ada' })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    expect(paid(harness)).toEqual([7])
    await expectSound(harness)
  })
})

/** What somebody changes by hand while the approval is on its way. */
const changes: readonly (readonly [string, (harness: Harness, ask: Ask) => Promise<void>])[] = [
  [
    'the call in the history, before the answer',
    async ({ redis, tag }, { workerId }) => replaceIn(redis, workerKeys(tag, workerId).log),
  ],
  [
    'the ask, before the answer',
    async ({ redis, tag }, { id }) => {
      const body = (await redis.hget(askKey(tag, id), 'body')) as string
      await redis.hset(askKey(tag, id), 'body', body.replaceAll('100', '900'))
    },
  ],
]

async function replaceIn(redis: Harness['redis'], list: string): Promise<void> {
  for (const [index, text] of (await redis.lrange(list, 0, -1)).entries())
    await redis.lset(list, index, text.replaceAll('"amount":100', '"amount":900'))
}

describe('one byte that is changed by hand between approval and run', () => {
  test.each(changes)('a changed byte of %s: nothing runs, and a person is asked again', async (_, change) => {
    await using harness = await Harness.open()
    const before = await harness.start('a', { program })
    const session = await harness.client.sessions.create({ kind: 'leaf', input: 'go' })
    const ask = await openAsk(session)
    await parked(harness, ask)
    await before.kill()
    await change(harness, ask)
    await harness.client.asks.answer(ask.id, 'approve')
    await harness.start('b', { program })
    const again = await openAsk(session, ask.id)
    expect(again.details).toMatchObject({ again: expect.stringContaining('not the one that was approved') })
    expect(paid(harness)).toEqual([])
    await harness.client.asks.answer(again.id, changed)
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    expect(paid(harness)).toEqual([7])
  })

  test('a changed byte of the answer that waits in the mailbox: nothing runs, and a person is asked again', async () => {
    await using harness = await Harness.open()
    const before = await harness.start('a', { program })
    const session = await harness.client.sessions.create({ kind: 'leaf', input: 'go' })
    const ask = await openAsk(session)
    await parked(harness, ask)
    await before.kill()
    await harness.client.asks.answer(ask.id, changed)
    const { signals } = workerKeys(harness.tag, ask.workerId)
    const mail = (await harness.redis.lindex(signals, 0)) as string
    await harness.redis.lset(signals, 0, mail.replace('"amount":7', '"amount":9'))
    await harness.start('b', { program })
    const again = await openAsk(session, ask.id)
    expect(paid(harness)).toEqual([])
    await harness.client.asks.answer(again.id, changed)
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    expect(paid(harness)).toEqual([7])
    await expectSound(harness)
  })
})

/** Approves whatever is asked until the session has ended. */
async function approveAll(session: Session, harness: Harness): Promise<void> {
  const result = awaitResult(session)
  let isOver = false
  const over = () => {
    isOver = true
  }
  result.then(over, over)
  await waitUntil('it has ended', async () => {
    for (const { id } of await session.asks()) await answer(harness, id)
    return isOver
  })
  expect(await result).toMatchObject({ status: 'completed' })
}

async function answer(harness: Harness, id: string): Promise<void> {
  try {
    await harness.client.asks.answer(id, changed)
  } catch (error) {
    // It was answered by the look before this one.
    if (!(error instanceof ConflictError)) throw error
  }
}

const moments = ['commit.before', 'commit.asked', 'commit.step', 'commit.end'].flatMap((point) =>
  [1, 2, 3, 4].map((nth) => `${point}:${nth}`),
)

describe.concurrent('a node that dies', () => {
  test.each(moments)(
    'a node that dies at %s of a run leaves a run that asks, is approved and pays once',
    async (crashAt) => {
      await using harness = await Harness.open()
      const doomed = await harness.start('doomed', { program, crashAt })
      const session = await harness.client.sessions.create({ kind: 'leaf', input: 'go' })
      const approved = approveAll(session, harness)
      const hasEnded = await Promise.race([doomed.gone.then(() => false), approved.then(() => true)])
      if (!hasEnded) await harness.start('heir', { program })
      await approved
      expect(paid(harness)).toEqual([7])
      await expectSound(harness)
    },
  )
})
