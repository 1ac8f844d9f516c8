/** What a session's root has in its record, which a script has read, is not asked for once more. */
import { describe, expect, test } from 'vitest'
import { commandsNaming } from '../../support/redis/watched-commands.ts'
import { resultOf } from '../support/calls/call-scenes.ts'
import { Place } from '../support/place.ts'

async function readsOf(place: Place, worker: string, call: () => Promise<unknown>): Promise<string[]> {
  const { record } = place.workerKeys(worker)
  const commands = await commandsNaming(place.redis, record, call)
  return commands
    .filter(({ name, args }) => name.startsWith('h') && name !== 'hset' && args[0] === record)
    .map(({ name }) => name)
}

/** A conversation whose root has been woken before, and has a message to answer. */
async function woken(place: Place) {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  await (await node.claim()).complete()
  await place.post(root, 'second')
  return { root, turn: await node.claim() }
}

describe('the record of a root is read once', () => {
  test('the record of a root is read once by a post to it', async () => {
    await using place = await Place.open()
    const { root, turn } = await woken(place)
    await turn.complete()
    expect(await readsOf(place, root, () => place.post(root, 'third'))).toEqual(['hmget'])
  })

  test('the record of a root is read once by its commit that spawns', async () => {
    await using place = await Place.open()
    await place.create()
    const turn = await place.node().claim()
    const wish = {
      spawns: [place.child(turn.worker, 1, 'child')],
      pendingCalls: [1],
      end: { wait: 'signals', next: null },
    }
    expect(await readsOf(place, turn.worker, () => turn.record(wish))).toEqual(['hgetall'])
  })

  test('the record of a root is read once by its commit that leaves mail', async () => {
    await using place = await Place.open()
    const { root, turn } = await woken(place)
    await place.post(root, 'third')
    expect(await readsOf(place, root, () => turn.complete())).toEqual(['hgetall'])
  })

  test('the record of a root is read once by a child that wakes it', async () => {
    await using place = await Place.open()
    const { root } = await place.create()
    const node = place.node()
    const turn = await node.claim()
    const child = place.child(root, 1, 'child')
    await turn.park(`result:${child.id}`, { spawns: [child], pendingCalls: [1] })
    const born = await node.claim()
    expect(await readsOf(place, root, () => born.complete({ result: resultOf(born) }))).toEqual(['hmget', 'hmget'])
  })
})
