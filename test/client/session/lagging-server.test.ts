/** During a fail-over, the server that a client or a node reads may be behind the one that told it of an end. */
import { describe, expect, test, vi } from 'vitest'
import { readEnd } from '../../../src/client/session/run/read-notice.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { InspectStore } from '../../../src/store/audit/inspect-store.ts'
import { partitionKeys, sessionKeys, workerKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

// An end tells a result of this size by its place alone.
const value = 'x'.repeat(100_000)

interface Scene extends AsyncDisposable {
  /** It has ended, and no node runs any more. */
  readonly session: Session
  readonly store: InspectStore
  /** Makes Redis forget the end. */
  readonly goBack: () => Promise<void>
  readonly goForth: () => Promise<void>
}

async function endedSession(): Promise<Scene> {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const gated = defineWorker({
    async receive(_message, self) {
      begun.resolve()
      await gate.promise
      self.reply(value)
    },
  })
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const troupe = await TestTroupe.start({ workers: { echo, gated } })
  // From its first wait on, a client listens to the ends of what it creates.
  await troupe.run('echo')
  const session = await troupe.create('gated')
  await begun.promise
  const before = await keysOf(troupe, session)
  gate.resolve()
  await waitUntil('it has ended', async () => (await session.report()).session.state === 'completed')
  for (const node of troupe.nodes) await node.stop()
  const after = await keysOf(troupe, session)
  return {
    session,
    store: new InspectStore(troupe.redis, partitionKeys(troupe.tag), 0),
    goBack: () => restore(troupe, before),
    goForth: () => restore(troupe, after),
    [Symbol.asyncDispose]: () => troupe[Symbol.asyncDispose](),
  }
}

async function keysOf({ redis, tag }: TestTroupe, session: Session): Promise<Map<string, Buffer | null>> {
  const keys = [...Object.values(workerKeys(tag, session.rootId)), ...Object.values(sessionKeys(tag, session.id))]
  return new Map(await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const)))
}

async function restore({ redis }: TestTroupe, keys: ReadonlyMap<string, Buffer | null>): Promise<void> {
  for (const [key, dump] of keys) await (dump === null ? redis.del(key) : redis.restore(key, 0, dump, 'REPLACE'))
}

const expected = { status: 'completed', run: 1, value }

describe('a result whose server is behind', () => {
  test('has not come yet if the client was told of its end, and comes when it is there', async () => {
    await using scene = await endedSession()
    await scene.goBack()
    expect(await scene.session.endedResult()).toBe(undefined)
    await scene.goForth()
    expect(await scene.session.result()).toEqual(expected)
  })

  test('has not come yet if the server loses its end while the client reads it', async () => {
    await using scene = await endedSession()
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => {
      await scene.goBack()
      return null
    })
    expect(await scene.session.endedResult()).toBe(undefined)
    await scene.goForth()
    expect(await scene.session.result()).toEqual(expected)
  })

  test('comes if the server catches up while the client reads it', async () => {
    await using scene = await endedSession()
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => null)
    expect(await scene.session.endedResult()).toEqual(expected)
  })

  test('has not come yet if the server loses its end and has gone on in another way', async () => {
    await using scene = await endedSession()
    const received = await scene.store.entryAt(scene.session.rootId, 0)
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => {
      await scene.goBack()
      return received
    })
    expect(await scene.session.endedResult()).toBe(undefined)
  })

  test('comes for each run of a session that was closed, if the server catches up between two reads', async () => {
    await using troupe = await TestTroupe.start({
      workers: { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) },
    })
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result({ run: 1 })
    await session.root.send(2)
    await session.close()
    await waitUntil('it is closed', async () => (await session.report()).session.state === 'completed')
    const row = await new InspectStore(troupe.redis, partitionKeys(troupe.tag), 0).session(session.id)
    using _ = vi.spyOn(InspectStore.prototype, 'session').mockResolvedValueOnce(row)
    expect(await session.result({ run: 1 })).toEqual({ status: 'completed', run: 1, value: 1 })
  })
})

describe('the notice of an end', () => {
  test('is not sent if the server loses the end while it is read', async () => {
    await using scene = await endedSession()
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => {
      await scene.goBack()
      return null
    })
    expect(await readEnd(scene.store, scene.session.id)).toBe(null)
  })

  test('is sent if the server catches up while it is read', async () => {
    await using scene = await endedSession()
    using _ = vi.spyOn(InspectStore.prototype, 'entryAt').mockImplementationOnce(async () => null)
    expect(await readEnd(scene.store, scene.session.id)).toMatchObject({ notice: { data: { run: 1, value } } })
  })
})
