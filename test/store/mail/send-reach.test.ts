/** To whom a worker may send, as the commit script decides it, and what a run may use that a worker's message began (PERMISSIONS-4). */
import { describe, expect, test } from 'vitest'
import { commonPermissions, isWithinSend, type Permissions } from '../../../src/core/worker/permissions.ts'
import { sender, sent } from '../support/mail/send-checks.ts'
import { Place } from '../support/place.ts'

/** A root and two children, one of which has a child, beside another session. The middle child is the one that sends. */
async function family(permissions: string) {
  const place = await Place.open()
  const { turn, root, other, node } = await sender(place)
  const sibling = place.child(root, 1, 'sibling')
  const middle = place.child(root, 2, 'middle', { permissions })
  await turn.park('results:2', { spawns: [sibling, middle], pendingCalls: [1, 2] })
  await (await node.claim()).park('signals')
  const middleTurn = await node.claim()
  const child = place.child(middle.id, 1, 'child', { permissions })
  await middleTurn.record({ spawns: [child], pendingCalls: [1] })
  const workers = { parent: root, child: child.id, sibling: sibling.id, itself: middle.id, stranger: other.root }
  return { place, turn: middleTurn, workers, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

test.each([
  ['', ['parent', 'child', 'sibling', 'itself', 'stranger']],
  ['tools a', ['parent', 'child', 'sibling', 'itself', 'stranger']],
  ['send session', ['parent', 'child', 'sibling', 'itself']],
  ['send family', ['parent', 'child', 'itself']],
  ['send none', ['itself']],
  ['tools a\nsend none', ['itself']],
])('a worker with %j reaches %j', async (permissions, reached) => {
  await using scene = await family(permissions)
  for (const [name, id] of Object.entries(scene.workers))
    expect([name, await sent(scene.turn, id)]).toEqual([name, reached.includes(name) ? 'ok' : 'send_exceeded'])
})

test('a worker with a list of ids reaches these workers, in whatever session', async () => {
  await using place = await Place.open()
  const { root, other, node, turn } = await sender(place)
  const child = place.child(root, 1, 'child', { permissions: `send ${other.root}` })
  await turn.park('results:1', { spawns: [child], pendingCalls: [1] })
  const own = await node.claim()
  expect([await sent(own, other.root), await sent(own, root)]).toEqual(['ok', 'send_exceeded'])
})

describe('the right to send', () => {
  const [a, b] = ['0199f3a2-5c1e-8b04-9d68-3e0f7a21c000', '0199f3a2-5c1e-8b04-9d68-3e0f7a21d000']
  const reaches = ['none', 'family', 'session', a, `${a} ${b}`]

  test.each(reaches.flatMap((own) => reaches.map((given) => [own, given])))(
    'the script and the node agree whether the right to send of %j includes %j',
    async (own = '', given = '') => {
      await using place = await Place.open()
      const { turn, root } = await sender(place, `send ${own}`)
      const child = place.child(root, 1, 'child', { permissions: `send ${given}` })
      const { kind } = await turn.commit({ spawns: [child], pendingCalls: [1] })
      const read = (text: string) => (/^[a-z]+$/.test(text) ? text : text.split(' ')) as Permissions['send']
      expect(kind === 'ok').toBe(isWithinSend(read(given), read(own)))
    },
  )

  test('the right to send of a child is not absent if its parent is restricted', async () => {
    await using place = await Place.open()
    const { turn, root } = await sender(place, 'send session')
    const spawns = [place.child(root, 1, 'child', { permissions: '' })]
    expect(await turn.commit({ spawns, pendingCalls: [1] })).toMatchObject({ kind: 'refused' })
  })
})

test.each<[Permissions, Permissions | null, Permissions]>([
  [{ tools: ['a'] }, null, { tools: ['a'] }],
  [{ tools: ['a', 'b'] }, { tools: ['b', 'c'], kinds: [] }, { tools: ['b'], kinds: [] }],
  [{ folder: '/d' }, { folder: '/d/e' }, { folder: '/d/e' }],
  [{ folder: '/d/e' }, { folder: '/d' }, { folder: '/d/e' }],
  [{ folder: '/d' }, { folder: '/e' }, { tools: [], kinds: [], folder: '/d' }],
  [{}, { folder: '/e' }, { folder: '/e' }],
  [{ send: 'session' }, { send: 'none' }, { send: 'none' }],
  [{ send: ['x', 'y'] }, { send: ['y'] }, { send: ['y'] }],
  [{ send: ['x'] }, { send: 'session' }, { send: 'none' }],
])('a worker with %j, in a run that began with a message of a worker with %j, may use %j', (own, other, common) => {
  expect(commonPermissions(own, other)).toEqual({ ...common })
})
