/** During a fail-over, the server that a client reads may be behind the one that told it of an end. */
import { describe, expect, test, vi } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { InspectStore } from '../../../src/store/audit/inspect-store.ts'
import { sessionKeys, workerKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

// An end tells a result of this size by its place alone.
const value = 'x'.repeat(100_000)

interface Scene extends AsyncDisposable {
  /** It has ended, and no node runs any more. */
  readonly session: Session
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
})
