import { describe, expect, it } from 'vitest'
import { type LogLevel, lineBesideEvents, nodeLogLine } from '../../../../src/cli/view/lines/log-line.ts'

const at = new Date(2026, 10, 21, 12, 0, 1).getTime()

describe('lineBesideEvents', () => {
  it.each([
    [
      'TypeError: no x\n    at of (file:///home/me/w/reader.ts:12:7)\n    at node:internal/x:1:1',
      'TypeError: no x, at /home/me/w/reader.ts:12:7',
    ],
    [
      'Error: no\n    at /a/node_modules/b/c.js:1:1\n    at async file:///home/me/w.ts:3:4',
      'Error: no, at /home/me/w.ts:3:4',
    ],
    ['Error: no\n    at node:internal/x:1:1', 'Error: no'],
    ['Error: no', 'Error: no'],
  ])('names the place in the code of the author for stack %#', (stack, text) => {
    const fields = { worker: 'w', kind: 'reader', attempt: 1, error: 'no', stack }
    expect(lineBesideEvents({ at: 0, level: 'warn', fields, message: 'receive failed' })).toMatch(
      new RegExp(`  reader  warn  receive failed  ${text.replace(/[.]/g, '\\.')}$`),
    )
  })

  const record = (fields: object, level: LogLevel = 'info') => ({ at, level, fields, message: 'read\u001b[2J it' })

  it('shows the record of a worker with its fields', () => {
    expect(lineBesideEvents(record({ session: 's', worker: 'w', kind: 'reader', run: 1, files: 3, note: 'x' }))).toBe(
      '12:00:01  reader  info  read\\e[2J it  files=3  note=x',
    )
  })

  it('shows the place of a logged error, and a value that JSON cannot hold', () => {
    const stack = 'Error: no\n    at of (file:///home/me/w/reader.ts:12:7)'
    expect(
      lineBesideEvents(record({ session: 's', worker: 'w', kind: 'reader', error: 'Error: no', stack, n: 1n })),
    ).toBe('12:00:01  reader  info  read\\e[2J it  error=Error: no  at=/home/me/w/reader.ts:12:7  n=1n')
  })

  it('says of an error without a place in the code of the author that its place is not known', () => {
    const own = { session: 's', worker: 'w', kind: 'reader', stack: 'Error: no\n    at node:internal/x:1:1' }
    expect(lineBesideEvents(record(own))).toMatch(/ {2}at=\?$/)
  })

  it('leaves out a record that repeats an event, unless it is an error', () => {
    expect(lineBesideEvents(record({ worker: 'w', kind: 'reader' }))).toBeUndefined()
    for (const level of ['error', 'fatal'] as const)
      expect(lineBesideEvents(record({ worker: 'w', kind: 'reader' }, level))).toContain(level)
    expect(lineBesideEvents(record({}))).toContain('node  info')
  })

  it('names the worker, not only its kind', () => {
    const labelOf = (id: string) => (id === 'w' ? 'reader docs' : undefined)
    const own = { session: 's', worker: 'w', kind: 'reader' }
    expect(lineBesideEvents(record(own, 'warn'), labelOf)).toMatch(/^12:00:01 {2}reader docs {2}warn {2}/)
    const ofRuntime = { worker: 'w', kind: 'reader', stack: 'Error: no\n    at of (/home/me/w/reader.ts:12:7)' }
    expect(lineBesideEvents(record(ofRuntime, 'warn'), labelOf)).toMatch(/^12:00:01 {2}reader docs {2}warn {2}/)
    expect(lineBesideEvents(record({ ...own, worker: 'unknown' }), labelOf)).toMatch(/^12:00:01 {2}reader {2}info {2}/)
  })

  it('leaves the failure of an attempt, and its place, to its event', () => {
    const stack = 'Error: no\n    at of (/home/me/w/reader.ts:12:7)'
    const fields = { session: 's', worker: 'w', kind: 'reader', attempt: 1, of: 3, error: 'a long story', stack }
    expect(lineBesideEvents({ ...record(fields, 'warn'), message: 'receive failed' })).toBeUndefined()
  })
})

describe('nodeLogLine', () => {
  it('nodeLogLine has every field, on one line', () => {
    const fields = { session: 's', worker: 'w', kind: 'reader', files: 3, note: 'a\nb\u202e' }
    expect(nodeLogLine({ at, level: 'info', fields, message: 'read it' })).toBe(
      '12:00:01  reader  info  read it  session=s  worker=w  files=3  note=a\\nb\\u202e',
    )
    expect(nodeLogLine({ at, level: 'warn', fields: 'a message alone' })).toBe('12:00:01  node  warn  a message alone')
  })
})
