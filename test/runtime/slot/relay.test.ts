/** Slots that go on with children in the same pass of the event loop do so one after the other, and none waits for longer than that. */
import { expect, test } from 'vitest'
import { Relay } from '../../../src/runtime/slot/relay.ts'

/** What begins, in order; each passes on when it is told to. */
function runners() {
  const relay = new Relay()
  const begun: string[] = []
  const passOn = new Map<string, () => void>()
  const enter = (name: string) =>
    void relay.enter().then((pass) => {
      begun.push(name)
      passOn.set(name, pass)
    })
  return { begun, enter, pass: (name: string) => passOn.get(name)?.() }
}

/** All that is to be done before the event loop goes round. */
async function microtasks() {
  for (let tick = 0; tick < 20; tick++) await Promise.resolve()
}

const nextPass = () => new Promise((resolve) => setImmediate(resolve))

test('each begins when the one before passes on, in the order in which they came', async () => {
  const { begun, enter, pass } = runners()
  for (const name of ['a', 'b', 'c']) enter(name)
  await microtasks()
  expect(begun).toEqual(['a'])
  pass('a')
  await microtasks()
  expect(begun).toEqual(['a', 'b'])
  pass('b')
  await microtasks()
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('one that passes on twice lets one begin', async () => {
  const { begun, enter, pass } = runners()
  for (const name of ['a', 'b', 'c']) enter(name)
  await microtasks()
  pass('a')
  pass('a')
  await microtasks()
  expect(begun).toEqual(['a', 'b'])
})

test('when the event loop has gone round, all begin that still wait', async () => {
  const { begun, enter } = runners()
  for (const name of ['a', 'b', 'c']) enter(name)
  await nextPass()
  await microtasks()
  expect(begun).toEqual(['a', 'b', 'c'])
  enter('d')
  await microtasks()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})
