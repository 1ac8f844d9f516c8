/** The one word for what a worker does. */
import { describe, expect, it } from 'vitest'
import {
  type ActivityFacts,
  activities,
  activityOf,
  isActive,
  isOver,
} from '../../../../src/core/worker/run/activity.ts'
import { runStates, workerStates } from '../../../../src/core/worker/run/run-state.ts'

const facts: ActivityFacts = {
  run: 'Idle',
  worker: 'idle',
  firstByteSeen: false,
  hasBegun: true,
  wasCancelled: false,
  failureCode: undefined,
}

describe('activityOf', () => {
  it.each([
    ['done', {}],
    ['waiting', { hasBegun: false }],
    ['cancelled', { wasCancelled: true }],
    ['queued', { worker: 'queued' }],
    ['queued', { worker: 'queued', run: 'Failed', wasCancelled: true }],
    ['paused', { worker: 'paused', run: 'AwaitingLLMResponse' }],
    ['waiting', { worker: 'parked', run: 'ExecutingTools' }],
    ['working', { worker: 'running', run: 'ProcessingUserMessage', wasCancelled: true }],
    ['thinking', { worker: 'running', run: 'AwaitingLLMResponse' }],
    ['answering', { worker: 'running', run: 'AwaitingLLMResponse', firstByteSeen: true }],
    ['using a tool', { worker: 'running', run: 'ExecutingTools' }],
    ['waiting', { worker: 'running', run: 'TransientFailure' }],
    ['failed', { run: 'Failed', failureCode: 'handler_failed' }],
    ['failed', { run: 'Failed', worker: 'terminal' }],
    ['put aside', { run: 'Failed', failureCode: 'poison' }],
    ['working', { run: 'Failed', worker: 'running', failureCode: 'poison' }],
  ] as const)('activityOf is %s for %j', (word, given) => {
    expect(activityOf({ ...facts, ...given })).toBe(word)
  })

  it('activityOf has one word for each pair of states (ACTWORD-1)', () => {
    const words = runStates.flatMap((run) => workerStates.map((worker) => activityOf({ ...facts, run, worker })))
    expect(words.filter((word) => !activities.includes(word))).toEqual([])
  })

  it('activityOf is never both active and over', () => {
    expect(activities.filter((activity) => isActive(activity) && isOver(activity))).toEqual([])
    expect(activities.filter((activity) => !isActive(activity) && !isOver(activity))).toEqual([
      'queued',
      'waiting',
      'paused',
    ])
  })
})
