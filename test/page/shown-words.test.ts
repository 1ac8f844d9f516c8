/** What the page makes of what the API says, in words: findings, ids that are cut off, bars of the timeline. */
import { expect, test } from 'vitest'
import type { WorkerReport } from '../../src/client/report.ts'
import type { TimelineBar } from '../../src/client/session/timeline.ts'
import { cutIdProblem } from '../../src/page/api/id.ts'
import { aroundCommand } from '../../src/page/parts/state/around-command.ts'
import { rowsOf } from '../../src/page/screens/session/tabs/timeline-rows.ts'

test('the command of a finding stands once, where its advice names it', () => {
  expect(aroundCommand('go on with `troupe resume --all`, or wait', 'troupe resume --all')).toEqual([
    'go on with ',
    ', or wait',
  ])
  expect(aroundCommand('troupe doctor', 'troupe doctor')).toEqual(['', ''])
  expect(aroundCommand('read its log', 'troupe doctor')).toBe(null)
})

test('an id that was cut off is said to be a part of one', () => {
  const whole = '01900000-0000-7000-8000-000000000000'
  expect(cutIdProblem(whole, 'session')).toBe(null)
  expect(cutIdProblem(whole.slice(0, 23), 'worker')).toMatch(/only a part of the id of a worker: .* this has 23\./)
  expect(cutIdProblem('01900000…0000', 'session')).toMatch(/^01900000…0000 is only a part/)
  expect(cutIdProblem('../secret', 'session')).toBe(null)
})

test('a worker that waits has no bar that says that it works', () => {
  const reported = (more: object) => ({ id: 'w', parentId: null, lifecycle: 'busy', holdup: null, ...more })
  const kindOf = (kind: TimelineBar['kind'], report: object) => {
    const bar: TimelineBar = { workerId: 'w', kind, from: 1, to: null, label: null }
    return rowsOf([bar], [reported(report)] as unknown as WorkerReport[], 'w')[0]?.bars[0]?.kind
  }
  const byTimer = { activity: 'waiting', holdup: { reason: 'timer' } }
  expect(kindOf('working', byTimer)).toBe('timer')
  expect(kindOf('working', { activity: 'working' })).toBe('working')
  expect(kindOf('queue', { activity: 'working' })).toBe('working')
  expect(kindOf('queue', { activity: 'queued', holdup: { reason: 'no node' } })).toBe('queue')
})
