/** The bars of a timeline, from events in the order in which they are stored. */
import { expect, test } from 'vitest'
import { type TimelineBar, timelineOf } from '../../../src/client/session/timeline.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'

type Told = readonly [workerId: string, type: EventType, details?: object]

/** One event each millisecond, from 1 on. */
async function barsOf(...told: readonly Told[]): Promise<readonly string[]> {
  const events = told.map(([workerId, type, details = {}], index) => ({ workerId, type, details, at: index + 1 }))
  const { bars } = await timelineOf({
    async *events() {
      yield* events as unknown as RawEvent[]
    },
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
