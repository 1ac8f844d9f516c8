/** The bars of a timeline, from events in the order in which they are stored. */
import { expect, test } from 'vitest'
import { type TimelineBar, timelineOf } from '../../../src/client/session/timeline.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

type Told = readonly [workerId: string, type: EventType, details?: object]

/** One event each millisecond, from 1 on. */
function barsOf(...told: readonly Told[]): Promise<readonly string[]> {
  return barsBeside([], ...told)
}

/** `reports`: what is reported of the workers now. */
async function barsBeside(reports: readonly object[], ...told: readonly Told[]): Promise<readonly string[]> {
  const events = told.map(([workerId, type, details = {}], index) => ({ workerId, type, details, at: index + 1 }))
  const { bars } = await timelineOf({
    async *events() {
      yield* events as unknown as RawEvent[]
    },
    report: async () => ({ workers: reports }),
  } as unknown as Parameters<typeof timelineOf>[0])
  return bars.map(({ workerId, kind, from, to }: TimelineBar) => `${workerId} ${kind} ${from}-${to ?? ''}`)
}

const begun: readonly Told[] = [
  ['p', 'session.created'],
  ['p', 'run.started'],
  ['p', 'model.replied'],
  ['p', 'worker.spawned', { id: 'a' }],
  ['p', 'worker.spawned', { id: 'b' }],
]

test('a parent waits for its children until it has the last result', async () => {
  expect(await barsOf(...begun)).toEqual(['p queue 1-2', 'p model 2-3', 'p children 3-', 'a queue 4-', 'b queue 5-'])
  const one: Told = ['p', 'message.consumed', { kind: 'result', from: 'a' }]
  expect(await barsOf(...begun, one)).toContain('p children 6-')
  const both = await barsOf(...begun, one, ['p', 'message.consumed', { kind: 'result', from: 'b' }])
  expect(both).toContain('p children 3-6')
  expect(both).toContain('p working 7-')
})

test('nobody waits for a child that is detached, or after the run has ended', async () => {
  const detached: Told = ['p', 'worker.spawned', { id: 'd', detached: true }]
  expect(await barsOf(...begun.slice(0, 3), detached)).toContain('p working 3-')
  const again = await barsOf(...begun, ['p', 'run.completed'], ['p', 'message.accepted'], ['p', 'run.started'])
  expect(again).toContain('p working 8-')
})

test('a worker that waits for somebody does nothing else', async () => {
  const asked = await barsOf(...begun.slice(0, 3), ['p', 'ask.opened', { id: 'q', question: 'May it?' }])
  expect(asked).toEqual(['p queue 1-2', 'p model 2-3', 'p person 4-'])
})

test('nobody is waited for once the run that asked has ended', async () => {
  const cancelled = await barsOf(...begun.slice(0, 2), ['p', 'ask.opened', { id: 'q' }], ['p', 'worker.cancelled'])
  expect(cancelled).toEqual(['p queue 1-2', 'p working 2-4', 'p person 3-4'])
})

test('an order that is done without a run leaves no bar that never ends', async () => {
  const order: Told = ['p', 'message.accepted', { kind: 'order' }]
  const done = await barsOf(...begun.slice(0, 2), ['p', 'run.completed'], order, ['p', 'worker.configured'])
  expect(done).toEqual(['p queue 1-2', 'p working 2-3'])
})

const another: Told = ['q', 'message.consumed']
const timer = { kind: 'timer', ms: 2 }
test.each<[string, Told, Told, readonly string[]]>([
  ['its first message', another, ['p', 'run.started', { ms: 2 }], ['p queue 1-4', 'p working 4-']],
  [
    'a message that it cannot receive yet',
    another,
    ['p', 'turn.retried', { retryMs: 9, ms: 2 }],
    ['p queue 1-4', 'p working 4-6', 'p retry 6-15', 'p working 15-'],
  ],
  ['a timer', ['p', 'run.started'], ['p', 'message.consumed', timer], ['p queue 1-2', 'p timer 2-4', 'p working 4-']],
  [
    'a message longer than it has it',
    ['p', 'run.started'],
    ['p', 'message.consumed', { ...timer, ms: 5 }],
    ['p queue 1-2', 'p working 2-'],
  ],
])('the time in which a handler works on %s is no wait', async (_, before, last, bars) => {
  expect(await barsOf(['p', 'session.created'], before, another, another, another, last)).toEqual(bars)
})

test('the timeline of a handler that worked in its only turn says so', async () => {
  const released = Promise.withResolvers<void>()
  const slow = defineWorker({
    async receive(_, self) {
      await released.promise
      self.reply('done')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { slow } })
  const session = await troupe.create('slow')
  await waitUntil('it works', async () => (await session.root.report()).activity === 'working')
  const begun = performance.now()
  await waitUntil('it has worked for a while', () => performance.now() - begun > 50)
  released.resolve()
  await session.result()
  const { bars } = await timelineOf(session)
  const worked = bars.filter(({ kind }) => kind === 'working').map(({ from, to }) => (to ?? 0) - from)
  expect(worked.length).toBe(1)
  expect(worked[0]).toBeGreaterThanOrEqual(50)
})

test('a worker that waits has no bar that says that it works (TIMELINE-4)', async () => {
  const reported = (more: object) => [{ id: 'p', lifecycle: 'busy', holdup: null, ...more }]
  const byTimer = reported({ activity: 'waiting', holdup: { reason: 'timer' } })
  expect(await barsBeside(byTimer, ...begun.slice(0, 3))).toContain('p timer 3-')
  const works = reported({ activity: 'working' })
  expect(await barsBeside(works, ...begun.slice(0, 3))).toContain('p working 3-')
  expect(await barsBeside(works, ...begun.slice(0, 1))).toEqual(['p working 1-'])
  const queued = reported({ activity: 'queued', holdup: { reason: 'no node' } })
  expect(await barsBeside(queued, ...begun.slice(0, 1))).toEqual(['p queue 1-'])
})

test('the timeline of a session that waits for a timer says so', async () => {
  const sleeper = defineWorker({
    receive: (message, self) => {
      if (message.kind === 'input') self.after(3_600_000, 'later')
      else self.reply('done')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { sleeper } })
  const session = await troupe.create('sleeper')
  await waitUntil('it waits for its timer', async () => (await session.root.report()).holdup?.reason === 'timer')
  const { bars } = await timelineOf(session)
  expect(bars.at(-1)).toMatchObject({ workerId: session.rootId, kind: 'timer', to: null })
})
