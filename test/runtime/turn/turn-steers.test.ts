/** What a turn knows of the inputs that steer its run, whatever order the answers of the store come in. */
import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import type { Mail } from '../../../src/core/worker/message/message.ts'
import type { Steer } from '../../../src/core/worker/message/steer.ts'
import { TurnSteers } from '../../../src/runtime/turn/turn-steers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const steer = (position: number): Steer => ({ position, when: 'steer' })
const interrupt = (position: number): Steer => ({ position, when: 'interrupt' })
const mailAt = (position: number): Mail => ({
  lane: 'inbox',
  position,
  message: { kind: 'input', id: newId(0), from: null, value: position },
})

/** A turn of run 1; the store has every input that is asked for. */
function steersOfATurn(
  steered: readonly Steer[] = [],
  readInputs = async (_worker: string, positions: readonly number[]) => positions.map(mailAt),
) {
  const position = { run: 1 }
  const store = { readInputs }
  const turn = { assignment: { workerId: newId(0), steered }, host: { store }, whenAborted: () => () => {} }
  const steers = new TurnSteers(turn as never, { recorded: position, latest: position } as never)
  const waiting = async () => (await steers.read(() => true)).map((mail) => mail.position)
  const endRun = () => {
    steers.endRun()
    position.run++
  }
  return { steers, waiting, endRun }
}

describe('what steers a run', () => {
  test('an input that steers a run still waits when an older answer, which does not name it, is read after a newer one', async () => {
    const { steers, waiting } = steersOfATurn()
    steers.note([steer(1), interrupt(2)], 1)
    steers.note([steer(1)], 1)
    expect(steers.interrupts).toBe(true)
    expect(await waiting()).toEqual([1, 2])
    steers.note([steer(1)], 1)
    expect(await waiting()).toEqual([1, 2])
  })

  test('an input that steers a run is seen when it was read, not when an answer names it (TURN-STEERS-4)', async () => {
    const { steers, waiting } = steersOfATurn([steer(1)])
    expect(steers.unseenFrom).toBe(1)
    await waiting()
    expect(steers.unseenFrom).toBe(2)
    steers.note([steer(1), steer(4), steer(6)], 1)
    expect(steers.unseenFrom).toBe(4)
    await waiting()
    steers.take(mailAt(4))
    expect(steers.unseenFrom).toBe(7)
  })

  test('an input that its run began with does not steer it, whatever an older answer says', async () => {
    const { steers, waiting } = steersOfATurn([steer(1), interrupt(2), steer(3)])
    steers.begin(mailAt(2))
    steers.note([steer(1), interrupt(2), steer(3)], 1)
    expect(steers.interrupts).toBe(false)
    expect(await waiting()).toEqual([3])
  })

  test('an input that steers a run comes once, however many answers name it, and not again once it was taken', async () => {
    const { steers, waiting } = steersOfATurn([steer(1)])
    steers.note([steer(1), steer(2)], 1)
    expect(await waiting()).toEqual([1, 2])
    steers.take(mailAt(1))
    steers.note([steer(1), steer(2)], 1)
    expect(await waiting()).toEqual([2])
  })

  test('an input that steers a run interrupts the run once, and not again what the run does next', () => {
    const { steers } = steersOfATurn()
    const first = steers.work
    steers.note([interrupt(1)], 1)
    expect([first.aborted, steers.interrupts]).toEqual([true, true])
    const next = steers.work
    steers.note([interrupt(1)], 1)
    expect(next.aborted).toBe(false)
    steers.note([interrupt(1), interrupt(2)], 1)
    expect(next.aborted).toBe(true)
  })

  test('an input that cannot be looked at interrupts the run, since it may fit; one that does not fit does not', async () => {
    const away = steersOfATurn([], () => Promise.reject(new Error('Redis is away')))
    const there = steersOfATurn()
    const works = [away, there].map(({ steers }) => {
      steers.judgeBy(() => false)
      const { work } = steers
      steers.note([interrupt(1)], 1)
      return work
    })
    await waitUntil('the run is interrupted', () => works[0]?.aborted)
    await there.waiting()
    expect(works.map(({ aborted }) => aborted)).toEqual([true, false])
  })

  test.each([[[]], [[steer(1)]]])(
    'an input that steered a run does not steer the next run when its answer comes late (%o was known)',
    (known) => {
      const { steers, endRun } = steersOfATurn(known)
      endRun()
      steers.note([steer(1), interrupt(2)], 1)
      expect(steers.isWaiting).toBe(false)
      steers.note([steer(3)], 2)
      expect(steers.isWaiting).toBe(true)
    },
  )
})
