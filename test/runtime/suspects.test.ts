/** The permission to claim a suspect: one slot at a time, and none while a turn that was given up goes on. */
import { expect, test } from 'vitest'
import { SuspectGate } from '../../src/runtime/suspects.ts'
import { waitUntil } from '../support/wait-until.ts'

test('one slot at a time has the permission', () => {
  const gate = new SuspectGate(60_000)
  expect([gate.ask(1), gate.ask(2), gate.ask(1)]).toEqual([true, false, true])
  gate.giveBack(2)
  expect(gate.ask(2)).toBe(false)
  gate.giveBack(1)
  expect(gate.ask(2)).toBe(true)
})

test('nobody has it while behaviour goes on whose turn was taken away: it may block the node again', async () => {
  const gate = new SuspectGate(60_000)
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  expect(gate.ask(1)).toBe(true)
  gate.outlast(one.promise)
  gate.outlast(two.promise)
  expect([gate.ask(1), gate.ask(2)]).toEqual([false, false])
  one.resolve()
  await one.promise
  expect(gate.ask(1)).toBe(false)
  two.resolve()
  await waitUntil('both have ended', () => gate.ask(1))
})

test('behaviour that never ends keeps it for a while only', async () => {
  const gate = new SuspectGate(20)
  gate.outlast(new Promise(() => {}))
  expect(gate.ask(1)).toBe(false)
  await waitUntil('the time is over', () => gate.ask(1))
})
