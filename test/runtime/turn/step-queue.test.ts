/** Steps that go out together: how many of them may, and what one commit says of all of them. */
import { describe, expect, test } from 'vitest'
import type { RunPosition } from '../../../src/core/ports/ports.ts'
import type { Failure } from '../../../src/core/worker/run/failure.ts'
import { afterRun } from '../../../src/core/worker/run-ends.ts'
import { mergeSteps } from '../../../src/runtime/turn/step/commit-request.ts'
import { emptyStep, type Step } from '../../../src/runtime/turn/step/step.ts'
import { batchLength, StepQueue } from '../../../src/runtime/turn/step/step-queue.ts'
import { partsMost } from '../../../src/runtime/turn/step/step-size.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const open: RunPosition = { ...afterRun(0), open: true, runState: 'ProcessingUserMessage' }
const step = (more: Partial<Step> = {}): Step => ({ ...emptyStep(open), ...more })
const cost = (model: string) => ({ model, inputTokens: 1, outputTokens: 1, microUsd: 1 })
const steps = (count: number) => Array.from({ length: count }, () => step())

describe('a batch', () => {
  test('a batch holds no more than 50 steps', () => {
    expect([0, 1, 49, 50, 51, 120].map((count) => batchLength(steps(count)))).toEqual([0, 1, 49, 50, 50, 50])
  })

  test('a batch ends with the step that ends a run', () => {
    const ends = step({ outcome: 'completed' })
    expect(batchLength([ends, step()])).toBe(1)
    expect(batchLength([step(), step(), ends, step(), ends])).toBe(3)
  })

  const half = 'x'.repeat(900_000)
  const more = 'x'.repeat(60_000)
  test.each<[string, (text: string) => Partial<Step>]>([
    ['entries', (text) => ({ entries: ['', text] })],
    ['state', (text) => ({ stateJson: text })],
    ['result', (text) => ({ result: text })],
    ['children', (mail) => ({ spawns: [{ mail }, { mail: '' }] as unknown as Step['spawns'] })],
    [
      'permissions, once for children that share them',
      (permissions) => ({ spawns: [1, 2].map(() => ({ mail: '', permissions })) as unknown as Step['spawns'] }),
    ],
    ['messages', (mail) => ({ sends: [{ workerId: 'x', mail }] })],
    ['timers', (valueJson) => ({ timers: [{ id: 'x', ms: 1, valueJson }] })],
    ['asks', (body) => ({ asks: [{ id: 'x', sort: 'question', body }] })],
    ['answers of asks', (answer) => ({ asks: [{ id: 'x', sort: 'question', body: '', expiry: { ms: 1, answer } }] })],
  ])('a batch holds no more than 1.75 MiB, %s counted, but at least one step', (_, holding) => {
    const two = [step(holding(half)), step(holding(half))]
    expect(batchLength(two)).toBe(2)
    expect(batchLength([...two, step()])).toBe(3)
    expect(batchLength([...two, step(holding(more)), step()])).toBe(2)
    expect(batchLength([step(holding(`${half}${half}${more}`)), step()])).toBe(1)
  })

  test('the bytes of a text count, and not its characters', () => {
    const entries = ['é'.repeat(450_000)]
    expect(batchLength([step({ entries }), step({ entries }), step()])).toBe(3)
    expect(batchLength([step({ entries }), step({ entries }), step({ entries: ['é'.repeat(30_000)] }), step()])).toBe(2)
  })
})

describe('the parts of a batch', () => {
  const withTimers = (count: number) =>
    step({ timers: Array.from({ length: count }, () => ({ id: 't', ms: 1, valueJson: '1' })) })
  const most = partsMost('timer')

  test.each<[string, number, Partial<Step>]>([
    ['a timer', 1, { timers: [{ id: 't', ms: 1, valueJson: '1' }] }],
    ['a child', 3, { spawns: [{ mail: '' }] as unknown as Step['spawns'] }],
    ['an ask', 2, { asks: [{ id: 'x', sort: 'question', body: '' }] }],
    ['an ask that is withdrawn', 2, { withdraws: ['x'] }],
    ['a message', 5, { sends: [{ workerId: 'x', mail: '' }] }],
  ])(
    'the parts of a batch are no more than one receive may ask for: %s costs as much as %d timers',
    (_, cost, part) => {
      expect(batchLength([withTimers(most - Math.ceil(cost)), step(part), step()])).toBe(3)
      expect(batchLength([withTimers(most - Math.ceil(cost) + 1), step(part), step()])).toBe(1)
    },
  )

  test('a batch has one limit for its parts and one for its bytes: half of each fills a commit', () => {
    const holding = (bytes: number) => step({ stateJson: 'x'.repeat(bytes) })
    expect(batchLength([withTimers(most / 2), holding(900_000), step()])).toBe(3)
    expect(batchLength([withTimers(most / 2), holding(1_050_000), step()])).toBe(1)
  })

  test('the first step of a batch may have any number of parts', () => {
    expect(batchLength([withTimers(most + 1), step()])).toBe(1)
  })
})

describe('steps that were merged', () => {
  const failure = { code: 'run_failed' } as Failure
  const spawn = (id: string) => ({ id }) as Step['spawns'][number]

  test('merged steps use, write and report what each of them did, in order', () => {
    const first = step({
      entries: ['a'],
      signalsConsumed: 1,
      inputsConsumed: 2,
      resultsConsumed: [4],
      spawns: [spawn('a')],
      sends: [{ workerId: 'a', mail: '' }],
      timers: [{ id: 'a', ms: 1, valueJson: '' }],
      asks: [{ id: 'a', sort: 'question', body: '' }],
      withdraws: ['a'],
      cancels: ['a'],
      steersTaken: [3],
      costs: [cost('a/b')],
      configured: 'as asked',
      notes: [['run.started']],
    })
    const last = step({
      entries: ['c'],
      signalsConsumed: 3,
      inputsConsumed: 5,
      resultsConsumed: [2, 7],
      spawns: [spawn('c')],
      sends: [{ workerId: 'c', mail: '' }],
      timers: [{ id: 'c', ms: 2, valueJson: '' }],
      asks: [{ id: 'c', sort: 'signal', body: '' }],
      withdraws: ['c'],
      cancels: ['c'],
      steersTaken: [4],
      costs: [cost('c/d')],
      notes: [['run.completed']],
    })
    const both = {
      entries: ['a', 'c'],
      signalsConsumed: 4,
      inputsConsumed: 7,
      resultsConsumed: [4, 2, 7],
      spawns: [{ id: 'a' }, { id: 'c' }],
      sends: [{ workerId: 'a' }, { workerId: 'c' }],
      timers: [{ id: 'a' }, { id: 'c' }],
      asks: [{ id: 'a' }, { id: 'c' }],
      withdraws: ['a', 'c'],
      cancels: ['a', 'c'],
      steersTaken: [3, 4],
      costs: [{ model: 'a/b' }, { model: 'c/d' }],
      configured: 'as asked',
      notes: [['run.started'], ['run.completed']],
    }
    expect(mergeSteps([first, last])).toMatchObject(both)
    expect(mergeSteps([step(), first, step(), last, step()])).toMatchObject(both)
  })

  test('merged steps keep the state and the failure that the last of them set, and the position of the very last', () => {
    const later = { ...open, run: 2 }
    const merged = (...all: Partial<Step>[]) => mergeSteps(all.map(step))
    expect(merged({ stateJson: '1' }, { stateJson: '2' }, {}).stateJson).toBe('2')
    expect(merged({}, { failure }, {}).failure).toBe(failure)
    // Null says that there is none any more.
    expect(merged({ failure }, { failure: null }, {}).failure).toBeNull()
    expect(merged({}, {}).failure).toBeUndefined()
    const end = { outcome: 'completed', result: '"x"', openChildren: ['c'], dead: '{}' } as const
    expect(merged({}, { ...end, position: later })).toMatchObject({ ...end, position: later })
  })
})

describe('steps that wait', () => {
  test('what a run has used since its last step goes with the end of the turn, beside what that step has used (TURN-3)', () => {
    const queue = new StepQueue({ ...open, stateJson: null }, 1_000, () => {})
    const used = { stateJson: 'a 2', costs: [cost('c/d')] }
    const [first, last] = queue.withUsed([step({ entries: ['a'] }), step({ costs: [cost('a/b')] })], used)
    expect(first).toEqual(step({ entries: ['a'] }))
    expect(last).toMatchObject({ stateJson: 'a 2', costs: [{ model: 'a/b' }, { model: 'c/d' }] })
    expect(queue.withUsed([], used)).toMatchObject([{ stateJson: 'a 2', costs: [{ model: 'c/d' }] }])
  })

  test('lazy steps that found no room in a commit leave by themselves (STEP-2)', async () => {
    const queue = new StepQueue({ ...open, stateJson: null }, 1, () => {})
    for (const lazy of steps(51)) queue.add(lazy, true)
    expect([queue.take().length, queue.isDue]).toEqual([50, false])
    await waitUntil('the last one is due', () => queue.isDue)
    expect(queue.take()).toHaveLength(1)
    queue.stopTimer()
  })
})
