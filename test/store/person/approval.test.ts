/** approval: a session says which calls a person is asked about; claims and commits answer it. */
import { expect, test } from 'vitest'
import * as checks from '../support/person/approval-checks.ts'
import { Place } from '../support/place.ts'

const { approvalEvent, ...claims } = checks

test.each(Object.entries(claims))('%s', async (_, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('the policy is written once, and a session at its default has no field for it', async () => {
  await using place = await Place.open()
  const { id } = await place.create()
  const known = { 'idem:x': 'ok | for 86400s' }
  const set = (change: Parameters<typeof place.sessions.setApproval>[1]) =>
    place.changed(() => place.sessions.setApproval(id, change, approvalEvent, 'x'))
  expect(await set({ policy: 'manual' })).toEqual(known)
  await place.redis.del(place.keys.idem('x'))
  expect(await set({ policy: 'auto' })).toEqual({
    ...known,
    's:<one>': expect.objectContaining({ approval: 'auto wait 0' }),
    events: [['session.approvalChanged <one.root> {"policy":"auto"}']],
  })
  expect(await set({ policy: 'auto' })).toEqual({})
})

test('a record whose policy another program overwrote is named, and not changed', async () => {
  await using place = await Place.open()
  const { id, root } = await place.create({ approval: 'auto wait 0' })
  await place.redis.hset(`${place.keys.tag}:w:${root}`, 'approval', 'yes')
  await expect(place.sessions.setApproval(id, { policy: 'manual' }, '[]')).rejects.toThrow(
    /field approval of .* should be a policy/,
  )
})
