/** What workers log and tools report while somebody follows, as lines. */
import { expect, test } from 'vitest'
import { ToolLines } from '../../../../src/cli/view/lines/tool-lines.ts'
import { workerLogLine } from '../../../../src/cli/view/lines/worker-log-line.ts'
import type { RawEvent } from '../../../../src/core/event/event.ts'
import { at, commit, created, rosterAfter, spawning } from '../../../words/commits.ts'

const roster = rosterAfter(created, spawning)
const logged = (details: Record<string, unknown>) => commit('a', ['worker.logged', details])[0] as RawEvent

test('a line that a worker logs names it, its level and its fields; what is no such line is none', () => {
  expect(workerLogLine(logged({ level: 'warn', message: 'read it', fields: { files: 3 } }), roster)).toBe(
    '12:00:01  reader docs  warn  read it  files=3',
  )
  expect(workerLogLine(logged({ level: 'info', message: 'read it' }), roster)).toBe(
    '12:00:01  reader docs  info  read it',
  )
  expect(workerLogLine(logged({ level: 'loud', message: 'read it' }), roster)).toBeUndefined()
  expect(workerLogLine({ ...logged({ level: 'info', message: 'x' }), type: 'run.started' }, roster)).toBeUndefined()
})

test('the progress of each call is a line at most once in two seconds (TOOLLINES-1)', () => {
  const lines = new ToolLines()
  const told = (ms: number, toolCallId: string, more: Partial<RawEvent> = {}) => {
    const [event] = commit('a', ['tool.progress', { toolCallId, toolName: 'read', value: '40 %\u001b' }])
    return lines.of({ ...(event as RawEvent), at: at + ms, ...more }, roster)
  }
  const line = (second: number, label = 'reader docs') => [`12:00:0${second}  ${label}  read: 40 %\\e`]
  expect(told(0, 'one')).toEqual(line(1))
  expect(told(1_999, 'one')).toEqual([])
  expect(told(1_999, 'two')).toEqual(line(2))
  expect(told(1_999, 'one', { workerId: 'unknown' })).toEqual(line(2, 'unknown'))
  expect(told(2_000, 'one')).toEqual(line(3))
  expect(told(9_000, 'one', { type: 'tool.started' })).toEqual([])
})
