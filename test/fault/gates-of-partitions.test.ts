/** Limits of a kind hold over all partitions, whatever dies (GUEST-1, GUEST-2). */
import { expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { partitionOf } from '../../src/core/ids.ts'
import { gateRow } from '../faults/rows/work/gates.ts'
import { testRow } from '../support/fault/row-tests.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

test('a kind runs no more at once than its gate says, over all partitions', async () => {
  let [now, most] = [0, 0]
  const narrow = defineWorker({
    concurrency: { most: 3 },
    async receive(_message, self) {
      now++
      most = Math.max(most, now)
      await waitUntil('as many have run at once as may', () => most >= 3)
      await new Promise((resolve) => setTimeout(resolve, 20))
      now--
      self.reply('done')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { narrow }, partitions: 4, client: { partitions: 4 } })
  await troupe.startNode({ narrow })
  const sessions = await Promise.all(Array.from({ length: 40 }, (_, number) => troupe.create('narrow', number)))
  expect(new Set(sessions.map(({ id }) => partitionOf(id))).size).toBe(4)
  for (const session of sessions) expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(most).toBe(3)
  expect((await troupe.client.audit()).findings).toEqual([])
})

/** Two of the moments; `npm run faults -- --only F49` has all. */
testRow({
  ...gateRow,
  trials: (scale) =>
    gateRow.trials(scale).filter(({ name }) => /^(host\.answered|guest\.asked).*3 partitions/.test(name)),
})
