/** A conversation that is closed between the commit of its last run and the end of that turn: after a start that came to nothing, two commits. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { CommitRequest } from '../../../src/core/ports/ports.ts'
import { changedStore } from '../../support/changed-store.ts'
import { shortLeases } from '../../support/test-policy.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

test('ends', async () => {
  let hangs = true
  const echo = defineWorker({
    async receive(message, self) {
      if (hangs) await new Promise(() => {})
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.connect()
  const first = await troupe.startNode({ echo }, { policy: shortLeases })
  const session = await troupe.create('echo', 1, { keepOpen: true })
  await waitUntil('it runs', async () => (await session.root.report()).status === 'running')
  // Leaves the worker as if its node had died.
  await troupe.redis.hset(`${troupe.tag}:w:${session.rootId}`, 'token', '1:dead')
  await waitUntil('it is given up', () => first.busy === 0)
  await first.stop({ force: true })
  hangs = false
  await troupe.startNode(
    { echo },
    {
      aroundTurns: (turns) =>
        changedStore(turns, {
          async commit(request: CommitRequest) {
            if (request.end !== undefined && request.outcome === undefined) await session.close()
            return turns.commit(request)
          },
        }),
    },
  )
  expect(await awaitResult(session, { run: 1 })).toMatchObject({ value: 1 })
  const state = async () => (await session.report()).session.state
  await waitUntil('it has ended', async () => (await state()) === 'completed')
})
