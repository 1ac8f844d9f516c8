/** Permissions: what a session gives its root is in the record, and no child's permissions are wider than its parent's (I13). */
import { describe, expect, test } from 'vitest'
import { isWithinFolder } from '../../../src/core/worker/permissions.ts'
import type { Picture } from '../../../src/store/audit/audit-picture.ts'
import { AuditStore } from '../../../src/store/audit/audit-store.ts'
import { commitArgs } from '../../../src/store/turn/commit-args.ts'
import * as checks from '../support/limit/permission-checks.ts'
import { Place } from '../support/place.ts'

async function started(permissions: string) {
  const place = await Place.open()
  const { root } = await place.create({ permissions })
  const node = place.node()
  const turn = await node.claim()
  return { place, root, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

describe('the permissions of a session', () => {
  test('the permissions of a session are in the record of its root, and come with each claim', async () => {
    await using scene = await started('tools a b\nkinds c\nfolder /d')
    const { place, root, turn } = scene
    expect(await place.record(root)).toMatchObject({ permissions: 'tools a b\nkinds c\nfolder /d' })
    expect(turn.assignment.permissions).toEqual({ tools: ['a', 'b'], kinds: ['c'], folder: '/d' })
  })

  test('permissions that restrict nothing take no room in the record', async () => {
    await using scene = await started('')
    expect(await scene.place.record(scene.root)).not.toHaveProperty('permissions')
    expect(scene.turn.assignment.permissions).toEqual({})
  })
})

describe('permissions of over 64 bytes', () => {
  test('permissions of over 64 bytes are stored once for a session, however many of its workers have them', async () => {
    await using place = await Place.open()
    const { root, turn, spawns, kept } = await checks.family(place)
    await turn.park('signals', { spawns, pendingCalls: [1, 2] })
    const [own = '', its = '', sibling = ''] = await Promise.all(
      [root, ...spawns.map(({ id }) => id)].map(async (id) => (await place.record(id)).permissions),
    )
    expect([own, its].map((name) => /^@[0-9a-f]{40}$/.test(name))).toEqual([true, true])
    expect(sibling).toBe(its)
    const texts = await place.redis.hgetall(kept)
    expect(Object.keys(texts).sort()).toEqual([own.slice(1), its.slice(1)].sort())
    expect(texts[own.slice(1)]).toBe(checks.longPermissions)
  })

  test('permissions that are lost, or were replaced by another text, are found by the audit, and their workers are not claimed', async () => {
    await using place = await Place.open()
    const { id, root, turn, spawns, kept } = await checks.family(place)
    await turn.park('signals', { spawns, pendingCalls: [1, 2] })
    const [own = ''] = [(await place.record(root)).permissions?.slice(1)]
    const audit = new AuditStore(place.redis, place.caller, place.keys, 0, place.deadlineMs)
    const look = () => audit.look(id, [root, ...spawns.map((spawn) => spawn.id)], [])
    const damageIn = ({ workers }: Picture) => workers.map(({ fieldDamage }) => fieldDamage.map(({ field }) => field))
    const whole = await look()
    expect([whole.brokenPermissions, damageIn(whole)]).toEqual([[], [[], [], []]])
    await place.redis.hset(kept, own, 'tools other')
    expect((await look()).brokenPermissions).toEqual([own])
    await place.redis.del(kept)
    expect(damageIn(await look())).toEqual([['permissions'], ['permissions'], ['permissions']])
    expect(await place.node().ask()).toEqual({ kind: 'empty' })
  })

  test('permissions of over 64 bytes are sent once with a commit', async () => {
    await using place = await Place.open()
    const { turn, spawns } = await checks.family(place)
    const { texts } = commitArgs(turn.request({ spawns }), place.policy)
    expect(texts.filter((text) => text.startsWith('tools '))).toHaveLength(1)
  })
})

describe('the permissions of a child', () => {
  test('the permissions of a child are in its record, and those of a grandchild are checked against them', async () => {
    await using scene = await started('tools a b c')
    const { place, node, turn } = scene
    const child = place.child(turn.worker, 1, 'child', { permissions: 'tools a b' })
    await turn.park('signals', { spawns: [child], pendingCalls: [1] })
    expect(await place.record(child.id)).toMatchObject({ permissions: 'tools a b' })
    const below = await node.claim()
    expect(below.assignment.permissions).toEqual({ tools: ['a', 'b'] })
    const grandchild = (permissions: string) => ({
      spawns: [place.child(child.id, 1, 'grandchild', { permissions })],
      pendingCalls: [1],
    })
    expect(await below.commit(grandchild('tools a c'))).toMatchObject({ kind: 'refused' })
    expect(await below.commit(grandchild('tools b'))).toMatchObject({ kind: 'ok' })
  })

  test('the permissions of a child are checked against long ones in the time of reading both', async () => {
    const names = Array.from({ length: 40_000 }, (_, index) => `tool-${index}`)
    await using scene = await started(`tools ${names.join(' ')}`)
    const { place, turn } = scene
    const spawns = [place.child(turn.worker, 1, 'child', { permissions: `tools ${names.toReversed().join(' ')}` })]
    expect(await turn.commit({ spawns, pendingCalls: [1] })).toMatchObject({ kind: 'ok' })
  })

  test('the permissions of a child may be anything if the parent has none', async () => {
    await using scene = await started('')
    const { place, turn } = scene
    const child = place.child(turn.worker, 1, 'child', { permissions: 'tools a\nfolder /d' })
    await turn.record({ spawns: [child], pendingCalls: [1] })
    expect(await place.record(child.id)).toMatchObject({ permissions: 'tools a\nfolder /d' })
  })

  test.each([
    ['tools a b', 'tools a b'],
    ['tools a b', 'tools b'],
    ['tools a b', 'tools'],
    ['tools', 'tools'],
    ['tools a b', 'tools b\nkinds c\nfolder /d'],
    ['kinds echo other', 'kinds other'],
    ['folder /d', 'folder /d'],
    ['folder /d', 'folder /d/e f/g'],
    ['folder /d/', 'folder /d'],
    ['folder /', 'folder /d'],
    ['folder C:\\d', 'folder C:\\d\\e'],
    ['folder /d\ntools a', 'tools a\nfolder /d/e'],
  ])('permissions %j may give %j', async (own, given) => {
    await using scene = await started(own)
    const { place, turn } = scene
    const spawns = [place.child(turn.worker, 1, 'child', { permissions: given })]
    expect(await turn.commit({ spawns, pendingCalls: [1] })).toMatchObject({ kind: 'ok' })
  })

  test.each([
    ['tools a b', ''],
    ['tools a b', 'tools a c'],
    ['tools ab', 'tools a'],
    ['tools a', 'tools a\ntools a b'],
    ['tools', 'tools a'],
    ['tools a', 'kinds a'],
    ['kinds echo', 'kinds echo other'],
    ['kinds other', 'kinds other'],
    ['kinds', 'kinds'],
    ['folder /d', 'tools a'],
    ['folder /d', 'folder /'],
    ['folder /d', 'folder /de'],
    ['folder /d', 'folder /d/..'],
    ['folder /d', 'folder /d/e/../../f'],
    ['folder C:\\d', 'folder C:\\d\\..\\e'],
    // Where a slash parts folders, this folder is beside /d and not below it.
    ['folder /d', 'folder /d\\e'],
    // An older troupe cannot give what a newer one restricts.
    ['models small', 'tools a'],
  ])('permissions %j may not give %j', async (own, given) => {
    await using scene = await started(own)
    const { place, turn } = scene
    const child = place.child(turn.worker, 1, 'child', { permissions: given })
    const changed = await place.changed(async () =>
      expect(await turn.commit({ spawns: [child], pendingCalls: [1] })).toEqual({
        kind: 'refused',
        refusals: [{ reason: 'permission_exceeded', id: child.id }],
      }),
    )
    expect(changed).toEqual({})
  })

  test('each child whose permissions are too wide is named, and no child is created', async () => {
    await using scene = await started('tools a')
    const { place, turn } = scene
    const permissions = ['tools b', 'tools a', 'tools c']
    const spawns = permissions.map((permissions, index) =>
      place.child(turn.worker, index + 1, `c${index + 1}`, { permissions }),
    )
    const answer = await turn.commit({ spawns, pendingCalls: [1, 2, 3] })
    const refused = [spawns[0]?.id, spawns[2]?.id].map((id) => expect.objectContaining({ id }))
    expect(answer).toEqual({ kind: 'refused', refusals: refused })
    for (const { id } of spawns) expect(await place.redis.exists(place.workerKeys(id).record)).toBe(0)
  })

  test('permissions of a child that exists stay as they are, whatever a repeated spawn asks for', async () => {
    await using scene = await started('tools a')
    const { place, turn } = scene
    const spawn = (permissions: string) => ({
      spawns: [place.child(turn.worker, 1, 'child', { permissions })],
      pendingCalls: [1],
    })
    await turn.record(spawn('tools a'))
    expect(await turn.commit(spawn('tools a b'))).toMatchObject({ kind: 'ok' })
    expect(await place.record(spawn('').spawns[0]?.id ?? '')).toMatchObject({ permissions: 'tools a' })
  })
})

test('the script and the node agree which folders are inside of another', async () => {
  const folders = [
    '/',
    '/d',
    '/d/',
    '/d//',
    '/d/e',
    '/d/../e',
    '/d/..',
    '/de',
    '/d/.',
    '/d\\e',
    'C:\\d',
    'C:/d/e',
    'c:\\d',
  ]
  for (const outer of folders) {
    await using scene = await started(`folder ${outer}`)
    const { place, turn } = scene
    for (const [index, folder] of folders.entries()) {
      const spawns = [place.child(turn.worker, index + 1, `c${index}`, { permissions: `folder ${folder}` })]
      const { kind } = await turn.commit({ spawns })
      expect({ outer, folder, within: kind === 'ok' }).toEqual({ outer, folder, within: isWithinFolder(folder, outer) })
    }
  }
})
