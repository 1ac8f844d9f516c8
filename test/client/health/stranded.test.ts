/** What doctor reads to find workers that nothing wakes. */
import { expect, test } from 'vitest'
import { workerKeys } from '../../../src/store/keys.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test('doctor reads no mail, however much waits for a worker', async () => {
  await using troupe = await TestTroupe.connect()
  const { root, rootId } = await troupe.create('nobody', null, { keepOpen: true })
  for (const text of ['one', 'two', 'three']) await root.send(text)
  const { inbox } = workerKeys(troupe.tag, rootId)
  const asked = await commandsNaming(troupe.redis, inbox, () => troupe.client.health())
  expect(new Set(asked.map(({ name }) => name))).toEqual(new Set(['llen']))
})
