/** The commit that ends a turn claims the slot's next worker, under the rules of a claim, or gives the slot's wake-up back. */
import { describe, expect, test } from 'vitest'
import { Place } from '../support/place.ts'

const wakeup = 'b-mine-default-1'

describe('an ending commit', () => {
  test('an ending commit claims the next in the run queue, also of a pool of its own', async () => {
    await using place = await Place.open()
    for (const label of ['a', 'b']) await place.create({ label, kind: 'heavy', pool: 'slow' })
    const node = place.node({ kinds: { default: ['echo'], slow: ['heavy'] } })
    const turn = await node.claim({ pool: 'slow' })
    const { claimed } = await turn.complete({ end: { wait: 'any', next: node.next({ pool: 'slow' }) } })
    expect(claimed).toMatchObject({ kind: 'assigned', assignment: { name: 'b', kind: 'heavy', pool: 'slow' } })
  })

  test('an ending commit claims a worker that was started too often only for its quarantine', async () => {
    await using place = await Place.open()
    await place.create({ label: 'good' })
    const [node, other] = [place.node(), place.node({ id: 'node-b' })]
    const turn = await node.claim()
    await place.create({ label: 'bad' })
    for (let start = 0; start < 5; start++) {
      const { worker } = await other.claim()
      await place.expireLease(worker)
      await other.sweep({ free: 0 })
    }
    const { claimed } = await turn.complete({ end: { wait: 'any', next: node.next() } })
    expect(claimed).toMatchObject({ kind: 'assigned', assignment: { name: 'bad', purpose: 'poison', crashes: 5 } })
  })
})

describe('a wake-up that turned busy', () => {
  async function busy() {
    const place = await Place.open()
    for (const label of ['a', 'b']) await place.create({ label })
    const node = place.node()
    const turn = await node.claim({ wakeup, keepWakeup: true })
    await node.turns.renew([{ workerId: turn.worker, token: turn.assignment.token, wakeup, becomesBusy: true }])
    return { place, node, turn, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
  }

  test('a wake-up that turned busy counts as awake again with the next assignment', async () => {
    await using scene = await busy()
    const { place, node, turn } = scene
    const next = node.next({ wakeup, keepWakeup: true })
    expect(await place.changed(() => turn.complete({ wasBusy: true, end: { wait: 'any', next } }))).toMatchObject({
      'busy:default': null,
      'wakeups:default': expect.arrayContaining([`${wakeup} now+20s`]),
    })
  })

  test('a wake-up that turned busy goes with its slot: nobody counts on a slot that left', async () => {
    await using scene = await busy()
    const { place, turn } = scene
    await turn.complete({ wasBusy: true })
    expect(await place.dump()).not.toHaveProperty('busy:default')
  })
})
