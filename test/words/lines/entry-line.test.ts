import { describe, expect, it } from 'vitest'
import { decodeEntry, type Entry } from '../../../src/core/history/entry.ts'
import { entryLine } from '../../../src/words/lines/entry-line.ts'

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
    [{ type: 'attemptFailed', ...head, failure, retryMs: 200 }, 'attempt 1 failed, next in 200ms: run_failed: no'],
  ]

  it.each(entries)('shows entry %# as one line', (entry, text) => {
    expect(entryLine(12, entry)).toBe(`  12  12:00:01  run 3  ${text}`)
  })

  it('entryLine shows a summary with its model and the position from which it counts', () => {
    const summary = { type: 'compacted', text: 'They\ncounted.', firstKept: 'm7', model: 'test/m', usage: {} } as const
    expect(entryLine(0, { ...head, ...summary } as unknown as Entry)).toBe(
      '   0  12:00:01  run 3  compacted: before m7 prompts hold a summary by test/m: They\\ncounted.',
    )
    expect(entryLine(0, { ...head, type: 'expanded' } as unknown as Entry)).toContain('the last summary was taken back')
  })

  it('shows which node took a worker over, and the last words of the node before', () => {
    const takenOver = { start: 2, node: 'n-1', lastWords: 'node n-0 threw Error: no' }
    const entry = { type: 'completed', ...head, value: 1, takenOver } as Entry
    const line = entryLine(1, entry)
    expect(line).toContain('taken over by node n-1 (start 2; last words: node n-0 threw Error: no): completed: 1')
  })

  it('shows no bytes of a medium', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgoAAAAA' }
    const entry = { type: 'completed', ...head, value: { image } } as Entry
    const line = entryLine(1, entry)
    expect(line).toContain('completed: {"image":"[image (image/png, 12 B)]"}')
  })

  it('shows an entry of an unknown type as JSON', () => {
    expect(entryLine(0, { type: 'hologram', ...head } as unknown as Entry)).toContain('{"type":"hologram"')
    expect(entryLine(0, { type: 'cancelled', v: 1, at })).toBe('   0  12:00:01  cancelled')
  })

  it('shows an entry that another program overwrote, without a time', () => {
    expect(entryLine(7, decodeEntry('garbage'))).toBe('   7  --:--:--  {"type":"unreadable"}')
  })
})

describe('entryLine of an agent', () => {
  const message = { ...head, id: 'm' }
  const usage = { inputTokens: 12_345, outputTokens: 80 }
  const long = 'x'.repeat(500)
  const answered = { kind: 'answer', id: 'k1', from: null, status: 'answered', by: 'ada', reason: 'fine' } as const
  const output = { type: 'error-text', value: 'not run' } as const
  const refused = { type: 'toolResult', ...message, toolCallId: 'c', toolName: 'pay', output } as const
  const entries: [Entry, string][] = [
    [{ type: 'user', ...message, nudge: true, content: [{ type: 'text', text: 'Go on.' }] }, 'nudge: Go on.'],
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
      'user: look\\e[2J\\nhere [image (image/png, http://x)]; facts total',
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
      'delegated to reader docs (facts total), reader (detached)',
    ],
    [
      { type: 'asked', ...head, toolCallId: 'c', asks: [{ id: 'k1', sort: 'question', question: 'Send it?' }] },
      'asked Send it? (ask k1)',
    ],
    [{ type: 'askWithdrawn', ...head, toolCallId: 'c', ask: 'k1' }, 'ask k1 needs no answer any more'],
    [
      { type: 'received', ...head, message: { ...answered, value: { decision: 'approve', hash: 'f0' } } },
      'received the approval of ada (fine)',
    ],
    [
      {
        type: 'received',
        ...head,
        message: { ...answered, value: { decision: 'approve', hash: 'f0', arguments: { n: 1 }, trust: 'tool' } },
      },
      'received the approval of ada, with {"n":1}, and trusts the tool (fine)',
    ],
    [
      { type: 'received', ...head, message: { ...answered, by: null, value: { decision: 'deny', hash: 'f0' } } },
      'received the denial of somebody (fine)',
    ],
    [
      { type: 'received', ...head, message: { ...answered, value: { decision: 'deny' } } },
      'received answer of ada: {"decision":"deny"} (fine)',
    ],
    [{ ...refused, status: 'error', approval: 'denied' }, 'tool pay was denied: not run'],
    [{ ...refused, status: 'error', approval: 'approved' }, 'tool pay did not run: not run'],
    [
      { type: 'blank', ...head, model: 'm/n', finishReason: 'stop', usage },
      'blank reply (m/n, stop; 12.3k in, 80 out)',
    ],
    [{ type: 'error', ...message, message: 'no\r' }, 'error: no\\r'],
  ]

  it.each(entries)('entryLine of an agent shows entry %# as one line', (entry, text) => {
    expect(entryLine(12, entry)).toBe(`  12  12:00:01  run 3  ${text}`)
  })

  it('entryLine of an agent cuts arguments and reasoning, but not the text of a reply', () => {
    const content = [
      { type: 'reasoning', text: long },
      { type: 'text', text: long },
      { type: 'tool-call', toolCallId: 'c', toolName: 'write', input: null, inputText: long },
    ] as const
    const line = entryLine(0, { type: 'assistant', ...message, model: 'm/n', usage, finishReason: 'stop', content })
    expect(line.match(/x+…?/g)?.map(({ length }) => length)).toEqual([120, 500, 80])
  })
})

describe('entryLine of an entry that another program wrote over', () => {
  const failure = { code: 'run_failed', message: 'no', origin: 'handler', at, attempt: 1, retryable: false }
  const note = { call: 1, id: 'c', kind: 'reader', name: 'docs', facts: ['a'] }
  const ask = { id: 'a', sort: 'question', question: 'Why?' }
  const result = {
    kind: 'result',
    id: 'm',
    from: 'c',
    name: 'docs',
    workerKind: 'k',
    call: 1,
    status: 'failed',
    failure,
  }
  const blocks = [
    { type: 'text', text: 'x' },
    { type: 'reasoning', text: 'y' },
    { type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} },
  ]
  const usage = { inputTokens: 1, outputTokens: 2 }
  const timers = [{ id: 't', ms: 1 }]
  const entries: readonly Readonly<Record<string, unknown>>[] = [
    { type: 'received', message: { kind: 'input', value: 1 }, spawned: [note], sent: ['w'], timers, asks: [ask] },
    { type: 'received', message: result },
    { type: 'received', message: { kind: 'answer', status: 'answered', value: 1, by: 'b', reason: 'r' } },
    { type: 'step', name: 'n', value: 1 },
    { type: 'failed', failure },
    { type: 'attemptFailed', failure, retryMs: 1, toolCallIds: ['a'] },
    { type: 'user', content: [blocks[0], { type: 'file', mediaType: 'x' }], facts: { a: 1 }, from: 'f' },
    { type: 'assistant', model: 'm', content: blocks, finishReason: 'stop', usage },
    {
      type: 'toolResult',
      toolCallId: 'c',
      toolName: 't',
      status: 'ok',
      output: { type: 'text', value: 'x' },
      facts: {},
    },
    { type: 'summary', text: 'x', messagesCompacted: 1 },
    { type: 'delegated', toolCallId: 'c', spawned: [note] },
    { type: 'asked', toolCallId: 'c', asks: [ask] },
    { type: 'blank', model: 'm', finishReason: 'stop', usage },
    { type: 'retried', reopened: ['a'] },
  ]
  const wrong = [undefined, null, 5, 1e300, 'x', true, [], [null], [5], {}]

  /** Makes copies of a value, each with another part of it, at any depth, replaced by something of a wrong sort. */
  function* spoilt(value: unknown): Generator<unknown> {
    if (typeof value !== 'object' || value === null) return
    for (const [name, part] of Object.entries(value))
      for (const other of [...wrong, ...spoilt(part)])
        yield Object.assign(Array.isArray(value) ? [...value] : { ...value }, { [name]: other })
  }

  it.each(entries)('entryLine of an overwritten entry is a line, whatever replaced a part of entry %#', (entry) => {
    for (const one of spoilt({ ...head, ...entry }))
      expect(entryLine(3, decodeEntry(JSON.stringify(one)))).toMatch(/^ {3}3 {2}[^\n]+$/)
  })

  it('entryLine of an overwritten entry is shown as it is stored if nothing can be said about it', () => {
    const entry = { ...head, type: 'received', message: { kind: 'input', value: 1 }, timers: 5 }
    expect(entryLine(3, decodeEntry(JSON.stringify(entry)))).toContain('cannot be read: {"v":1,')
  })
})
