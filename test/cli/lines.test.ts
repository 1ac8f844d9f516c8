import { describe, expect, it } from 'vitest'
import { growTree, treeLeaves } from '../../src/cli/commands/session-tree.ts'
import { toolRows } from '../../src/cli/commands/tools.ts'
import { entryLine } from '../../src/cli/commands/worker-history.ts'
import { tableLines } from '../../src/cli/terminal/table.ts'
import { eventLine } from '../../src/cli/view/event-lines.ts'
import { type LogLevel, logLine } from '../../src/cli/view/log-line.ts'
import { Roster } from '../../src/cli/view/roster.ts'
import { tokensText } from '../../src/cli/view/tokens.ts'
import { usageColumns, usageText } from '../../src/cli/view/worker-columns.ts'
import type { WorkerReport } from '../../src/client/report.ts'
import { defineTool, type Tool } from '../../src/core/definition/define-tool.ts'
import { defineWorker, type WorkerDefinition } from '../../src/core/definition/define-worker.ts'
import type { EventType, RawEvent } from '../../src/core/event/event.ts'
import { decodeEntry, type Entry } from '../../src/core/history/entry.ts'
import type { UsageReport } from '../../src/core/worker/usage.ts'

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

  it('shows what another program wrote over without a time', () => {
    expect(entryLine(7, decodeEntry('garbage'))).toBe('   7  --:--:--  {"type":"unreadable"}')
  })
})

describe('entryLine of an agent', () => {
  const message = { ...head, id: 'm' }
  const usage = { inputTokens: 12_345, outputTokens: 80 }
  const long = 'x'.repeat(500)
  const entries: [Entry, string][] = [
    [
      {
        type: 'user',
        ...message,
        content: [
          { type: 'text', text: 'look\u001b[2J\nhere' },
          { type: 'image', mediaType: 'image/png', url: 'http://x' },
        ],
        facts: { total: 3 },
      },
      'user: look\\e[2J\\nhere [image image/png]; facts total',
    ],
    [
      {
        type: 'assistant',
        ...message,
        model: 'openai/gpt-5',
        usage,
        finishReason: 'tool-calls',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', toolCallId: 'c', toolName: 'read_file', input: { path: 'a\u001b' } },
        ],
      },
      'assistant (openai/gpt-5, 12.3k in, 80 out): [reasoning: hm] I look. [calls read_file {"path":"a\\u001b"}]',
    ],
    [
      {
        type: 'assistant',
        ...message,
        model: 'm/n',
        usage,
        finishReason: 'length',
        content: [{ type: 'text', text: 'So' }],
      },
      'assistant (m/n, 12.3k in, 80 out, ended by length): So',
    ],
    [
      {
        type: 'toolResult',
        ...message,
        toolCallId: 'c',
        toolName: 'read_file',
        status: 'ok',
        output: { type: 'text', value: 'a\u009b31mb' },
      },
      'tool read_file succeeded: a\\u009b31mb',
    ],
    [
      {
        type: 'toolResult',
        ...message,
        toolCallId: 'c',
        toolName: 'send',
        status: 'unknown',
        output: { type: 'json', value: [1] },
      },
      'tool send has an unknown outcome: [1]',
    ],
    [{ type: 'toolStarted', ...head, toolCallId: 'c', toolName: 'send' }, 'tool send started'],
    [
      {
        type: 'delegated',
        ...head,
        toolCallId: 'c',
        spawned: [
          { call: 1, id: 'a', kind: 'reader', name: 'docs', facts: ['total'] },
          { call: 2, id: 'b', kind: 'reader', name: 'reader', detached: true },
        ],
      },
      'delegated to reader docs (given total), reader (detached)',
    ],
    [
      { type: 'blank', ...head, model: 'm/n', finishReason: 'stop', usage },
      'blank reply (m/n, stop; 12.3k in, 80 out)',
    ],
    [{ type: 'error', ...message, message: 'no\r' }, 'error: no\\r'],
  ]

  it.each(entries)('%#', (entry, text) => {
    expect(entryLine(12, entry)).toBe(`  12  12:00:01  run 3  ${text}`)
  })

  it('cuts the arguments of calls and what the model thought, not what it said', () => {
    const content = [
      { type: 'reasoning', text: long },
      { type: 'text', text: long },
      { type: 'tool-call', toolCallId: 'c', toolName: 'write', input: null, inputText: long },
    ] as const
    const line = entryLine(0, { type: 'assistant', ...message, model: 'm/n', usage, finishReason: 'stop', content })
    expect(line.match(/x+…?/g)?.map(({ length }) => length)).toEqual([120, 500, 80])
  })
})

describe('eventLine of an agent', () => {
  const roster = new Roster()
  const event = (type: EventType, details: Record<string, unknown> = {}): RawEvent => ({
    id: '1-0.0',
    type,
    sessionId: 's',
    workerId: 'w',
    at,
    details,
  })
  roster.note(event('session.created', { kind: 'planner', name: 'planner' }))
  const call = (toolName: string, toolCallId = toolName) => ({ toolName, toolCallId })
  const replied = { model: 'openai/gpt-5', iteration: 1, inputTokens: 12_345, outputTokens: 80 }

  const commits: [RawEvent[], string | undefined][] = [
    [[event('model.replied', { ...replied, calls: 2 })], 'openai/gpt-5 replied (12.3k in, 80 out), calls 2 tools'],
    [[event('model.replied', { ...replied, calls: 0 })], 'openai/gpt-5 replied (12.3k in, 80 out)'],
    [
      [event('model.replied', { ...replied, calls: 0, finishReason: 'length' })],
      'openai/gpt-5 replied (12.3k in, 80 out), ended by length',
    ],
    [[event('model.blanked', { model: 'm/\u001b[2J' })], 'm/\\e[2J replied with nothing'],
    [[event('tool.started', call('send'))], 'runs send'],
    [
      [event('tool.started', call('send')), event('tool.succeeded', { ...call('send'), ms: 1_500 })],
      'ran send in 1.5s',
    ],
    [
      [
        event('tool.succeeded', call('read', 'a')),
        event('tool.succeeded', call('read', 'b')),
        event('tool.succeeded', call('list')),
        event('tool.failed', { ...call('write'), ms: 12 }),
        event('tool.unknown', call('send')),
      ],
      'ran 2 read, list; write failed in 12ms; whether send took effect is unknown',
    ],
    [
      [
        event('tool.succeeded', { ...call('read', 'a'), ms: 1_500 }),
        event('tool.succeeded', { ...call('read', 'b'), ms: 20 }),
      ],
      'ran 2 read',
    ],
    [[event('text.delta', { text: 'x' }), event('reasoning.delta'), event('tool.progress')], undefined],
  ]

  it.each(commits)('%#', (commit, text) => {
    expect(eventLine(commit, roster)).toBe(text === undefined ? undefined : `12:00:01  planner  ${text}`)
  })
})

describe('tokensText', () => {
  it('has at most four digits and a unit', () => {
    const counts = [0, 999, 1_000, 1_049, 12_345, 999_949, 999_951, 1_234_567, 2_000_000_000]
    expect(counts.map(tokensText)).toEqual(['0', '999', '1k', '1k', '12.3k', '999.9k', '1M', '1.2M', '2G'])
  })
})

describe('toolRows', () => {
  it('tells each tool once, with the kinds that use it', () => {
    const tool = (name: string, description: string) =>
      defineTool({ name, description, effect: 'pure', run: () => null })
    const [read, list] = [tool('read', 'Reads.'), tool('list', 'Lists.')]
    const agent = (...tools: Tool[]) => defineWorker({ instructions: 'Work.', tools })
    const kinds = new Map<string, WorkerDefinition>([
      ['writer', agent(read)],
      ['reader', agent(read, list)],
      ['other', agent(tool('read', 'Another.'))],
      ['echo', defineWorker({ receive() {} })],
    ])
    expect(toolRows(kinds)).toEqual([
      { name: 'list', effect: 'pure', kinds: ['reader'], description: 'Lists.' },
      { name: 'read', effect: 'pure', kinds: ['reader', 'writer'], description: 'Reads.' },
      { name: 'read', effect: 'pure', kinds: ['other'], description: 'Another.' },
    ])
  })
})

describe('usageColumns', () => {
  const worker = (name: string, iterations: number, usage: Partial<UsageReport>) =>
    ({ name, iterations, usage }) as WorkerReport
  const used = { modelCalls: 3, inputTokens: 12_345, outputTokens: 80 }
  const lines = (workers: WorkerReport[]) =>
    tableLines(workers, [{ header: 'w', value: ({ name }) => name }, ...usageColumns(workers, (row) => row)], 80)

  it('are there where any worker has a model', () => {
    expect(lines([worker('a', 2, used), worker('b', 0, {})])).toEqual([
      'W  ITERATIONS  TOKENS IN  OUT',
      'a           2      12.3k   80',
      'b',
    ])
  })

  it('are not there where none has', () => {
    expect(lines([worker('b', 0, {})])).toEqual(['W', 'b'])
  })

  it('are said in a sentence for one worker or a session', () => {
    expect(usageText({ ...used, cacheReadTokens: 4_000, reasoningTokens: 60 })).toBe(
      '3 model calls; 12.3k tokens in (4k from the cache), 80 out (60 reasoning)',
    )
    expect(usageText({ modelCalls: 1 })).toBe('1 model call; 0 tokens in, 0 out')
    expect(usageText({})).toBeNull()
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
  ])('says where in the author’s code something was thrown', (stack, told) => {
    const fields = { worker: 'w', kind: 'reader', attempt: 1, error: 'no', stack }
    expect(logLine({ at: 0, level: 'warn', fields, message: 'receive failed' })).toMatch(
      new RegExp(`  reader  warn  receive failed  ${told.replace(/[.]/g, '\\.')}$`),
    )
  })

  const record = (fields: object, level: LogLevel = 'info') => ({ at, level, fields, message: 'read\u001b[2J it' })

  it('shows what a worker logs, with its fields', () => {
    expect(logLine(record({ session: 's', worker: 'w', kind: 'reader', run: 1, files: 3, note: 'x' }))).toBe(
      '12:00:01  reader  info  read\\e[2J it  files=3  note=x',
    )
  })

  it('shows where an error came from that a worker logs, and what JSON cannot hold', () => {
    const stack = 'Error: no\n    at of (file:///home/me/w/reader.ts:12:7)'
    expect(logLine(record({ session: 's', worker: 'w', kind: 'reader', error: 'Error: no', stack, n: 1n }))).toBe(
      '12:00:01  reader  info  read\\e[2J it  error=Error: no  at=/home/me/w/reader.ts:12:7  n=1n',
    )
  })

  it('leaves out what events tell, unless it is an error', () => {
    expect(logLine(record({ worker: 'w', kind: 'reader' }))).toBeUndefined()
    expect(logLine(record({ worker: 'w', kind: 'reader' }, 'error'))).toContain('error')
    expect(logLine(record({}))).toContain('node  info')
  })
})
