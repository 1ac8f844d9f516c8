/** What is told of the end of a run: for a job's own run also its value, if that is small. */
import { expect, test } from 'vitest'
import { rememberSecret } from '../../../src/core/secret/known-secrets.ts'
import { completedNote, endingOf } from '../../../src/core/worker/run-ends.ts'
import { assignmentByHand } from '../../runtime/support/held-store.ts'

const job = assignmentByHand({ isJob: true })

test("a job's run tells its value, and its number unless it is the first", () => {
  expect(completedNote(job, 1, '{"a":[1,"é"]}')).toEqual(['run.completed', { value: { a: [1, 'é'] } }])
  expect(completedNote(job, 1, 'null')).toEqual(['run.completed', { value: null }])
  expect(completedNote(job, 3, '7')).toEqual(['run.completed', { run: 3, value: 7 }])
})

test('the event of a completed run carries a value of up to 256 bytes as JSON', () => {
  const json = (letters: string) => JSON.stringify(letters)
  expect(completedNote(job, 1, json('x'.repeat(254)))).toEqual(['run.completed', { value: 'x'.repeat(254) }])
  expect(completedNote(job, 1, json('x'.repeat(255)))).toEqual(['run.completed'])
  expect(completedNote(job, 1, json('é'.repeat(128)))).toEqual(['run.completed'])
})

test('events do not carry a value that holds a secret, which events are written without', () => {
  const secret = 'whsec_the-secret-of-a-test'
  rememberSecret(secret)
  expect(completedNote(job, 1, JSON.stringify({ a: secret }))).toEqual(['run.completed'])
})

test('only the first run of a child answers the call of its parent', () => {
  const outcome = { status: 'completed', valueJson: '7' } as const
  const child = assignmentByHand({ call: 4 })
  expect(endingOf(child, 1, outcome).result).toContain('7')
  expect(endingOf(child, 2, outcome)).toEqual({ outcome: 'completed' })
  expect(endingOf(assignmentByHand({ call: null }), 1, outcome)).toEqual({ outcome: 'completed' })
})

test('events do not carry the value of a child, nor of one run of a conversation, because nobody waits for it', () => {
  expect(completedNote(assignmentByHand({ isJob: false }), 1, '7')).toEqual(['run.completed'])
})
