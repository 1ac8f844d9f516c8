import { describe, expect, it } from 'vitest'
import { closest } from '../../src/cli/closest.ts'
import { type LogLevel, logLine } from '../../src/cli/log-line.ts'
import { growTree, treeLeaves } from '../../src/cli/session-tree.ts'
import { entryLine } from '../../src/cli/worker-history.ts'
import type { WorkerReport } from '../../src/client/report.ts'
import type { Entry } from '../../src/core/entry.ts'

const at = new Date(2026, 10, 21, 12, 0, 1).getTime()
const head = { v: 1, at, run: 3, epoch: 7 }

describe('entryLine', () => {
  const failure = { code: 'run_failed', message: 'no', origin: 'handler', at, attempt: 1, retryable: false } as const
  const entries: [Entry, string][] = [
    [
      { type: 'received', ...head, message: { kind: 'input', id: 'm', from: null, value: { folder: 'docs' } } },
      'received input: {"folder":"docs"}',
    ],
    [
      {
        type: 'received',
        ...head,
        message: { kind: 'timer', id: 'm', from: null, value: 'tick' },
        spawned: [{ call: 1, id: 'c', kind: 'reader', name: 'docs' }],
        timers: [{ id: 't', ms: 5_000 }],
      },
      'received timer: tick; spawned reader docs; set a timer (5.0s)',
    ],
    [
      {
        type: 'received',
        ...head,
        message: {
          kind: 'result',
          id: 'm',
          from: 'c',
          name: 'docs',
          workerKind: 'reader',
          call: 1,
          status: 'failed',
          value: null,
          failure,
        },
      },
      'received result of docs (failed): run_failed (handler): no',
    ],
    [{ type: 'completed', ...head, value: 'a\nb\u001b[0m' }, 'completed: a\\nb\\e[0m'],
    [{ type: 'failed', ...head, failure }, 'failed: run_failed (handler): no'],
    [{ type: 'attemptFailed', ...head, failure, retryMs: 200 }, 'try 1 failed, again in 200ms: run_failed: no'],
  ]

  it.each(entries)('%#', (entry, text) => {
    expect(entryLine(12, entry)).toBe(`  12  12:00:01  run 3  ${text}`)
  })

  it('shows what it does not know', () => {
    expect(entryLine(0, { type: 'compacted', ...head } as unknown as Entry)).toContain('{"type":"compacted"')
    expect(entryLine(0, { type: 'cancelled', v: 1, at })).toBe('   0  12:00:01  cancelled')
  })
})

describe('treeLeaves', () => {
  it('draws children under their parents, in order', () => {
    const worker = (id: string, parentId: string | null, kind = 'reader') =>
      ({ id, parentId, kind, name: id }) as WorkerReport
    const tree = growTree([
      worker('root', null),
      worker('a', 'root'),
      worker('b', 'root'),
      worker('a1', 'a', 'a1'),
      worker('lost', 'gone'),
    ])
    expect(treeLeaves(tree).map(({ label }) => label)).toEqual([
      'root (reader)',
      '├─ a (reader)',
      '│  └─ a1',
      '└─ b (reader)',
      'lost (reader)',
    ])
  })
})

describe('logLine', () => {
  const record = (fields: object, level: LogLevel = 'info') => ({ at, level, fields, message: 'read\u001b[2J it' })

  it('shows what a worker logs, with its fields', () => {
    expect(logLine(record({ session: 's', worker: 'w', kind: 'reader', run: 1, files: 3, note: 'x' }))).toBe(
      '12:00:01  reader  info  read\\e[2J it  files=3  note=x',
    )
  })

  it('leaves out what events tell, unless it is an error', () => {
    expect(logLine(record({ worker: 'w', kind: 'reader' }))).toBeUndefined()
    expect(logLine(record({ worker: 'w', kind: 'reader' }, 'error'))).toContain('error')
    expect(logLine(record({}))).toContain('node  info')
  })
})

describe('closest', () => {
  it('finds what was meant', () => {
    const kinds = ['surveyor', 'reader', 'counter']
    expect(closest('surveyer', kinds)).toBe('surveyor')
    expect(closest('raeder', kinds)).toBe('reader')
    expect(closest('Reader', kinds)).toBe('reader')
    expect(closest('writer', kinds)).toBeUndefined()
    expect(closest('x', [])).toBeUndefined()
  })
})
