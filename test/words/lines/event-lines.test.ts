import { describe, expect, it } from 'vitest'
import { Roster } from '../../../src/client/event/activity.ts'
import type { EventType, RawEvent } from '../../../src/core/event/event.ts'
import { EventLines } from '../../../src/words/lines/event-lines.ts'
import { at, batch, commit, created, failure, rosterAfter, spawning } from '../commits.ts'

describe('EventLines', () => {
  it('shows a commit as one line', () => {
    expect(new EventLines().of(spawning, rosterAfter(created, spawning))).toEqual([
      '12:00:01  surveyor  spawned 2 reader, waiting on 2 children',
    ])
  })

  const retried = (attempt: number): [EventType, Record<string, unknown>] => [
    'turn.retried',
    { attempt, retryMs: 250, failure },
  ]

  it.each<[string, RawEvent[], string[]]>([
    ['kind and name where they differ', commit('a', 'run.started'), ['reader docs  started']],
    ['a name that says the kind', commit('b', 'run.started', 'run.completed'), ['reader 2  done']],
    [
      'an attempt that failed',
      commit('a', retried(1)),
      ['reader docs  attempt 1 failed, next in 250ms: handler_failed: no\\e[31m luck'],
    ],
    ['nothing for a result that its parent receives', commit('root', ['message.consumed', { kind: 'result' }]), []],
    [
      'what is asked and how it is answered',
      commit('a', ['ask.opened', { id: 'k1', sort: 'question', question: 'Why?' }], ['ask.answered', { id: 'k1' }]),
      ['reader docs  asks: Why? (answer with: troupe ask answer k1 <answer>); was answered'],
    ],
    [
      'a call that is approved',
      commit(
        'a',
        ['ask.opened', { id: 'k1', sort: 'approval', question: 'May pay run?' }],
        ['ask.answered', { id: 'k1', by: 'ada', decision: 'approve' }],
      ),
      ['reader docs  asks: May pay run? (decide with: troupe approval show k1); was approved by ada'],
    ],
    [
      'a call that is denied',
      commit('a', ['ask.answered', { id: 'k1', decision: 'deny' }]),
      ['reader docs  was denied'],
    ],
    [
      'the reason of a cancel',
      commit('root', ['session.cancelRequested', { reason: 'enough' }]),
      ['surveyor  cancelling the session: enough'],
    ],
    [
      'a line for each worker of a batch of commits',
      batch(['a', 'run.started', 'run.completed'], ['b', 'run.started', ['worker.failed', { failure }]]),
      ['reader docs  done', 'reader 2  failed: handler_failed (handler, after 2 attempts): no\\e[31m luck'],
    ],
  ])('shows %s', (_, events, lines) => {
    const roster = rosterAfter(created, spawning, events)
    expect(new EventLines().of(events, roster)).toEqual(lines.map((line) => `12:00:01  ${line}`))
  })

  it('shows the same failure of a worker once', () => {
    const lines = new EventLines()
    const commits = [commit('a', retried(1)), commit('a', retried(2)), commit('a', ['worker.failed', { failure }])]
    const roster = rosterAfter(created, spawning)
    expect(commits.flatMap((events) => lines.of(events, roster))).toEqual([
      '12:00:01  reader docs  attempt 1 failed, next in 250ms: handler_failed: no\\e[31m luck',
      '12:00:01  reader docs  attempt 2 failed in the same way, next in 250ms',
      '12:00:01  reader docs  failed after 2 attempts',
    ])
    const other = { ...failure, message: 'other' }
    expect(lines.of(commit('a', ['worker.failed', { failure: other }]), roster)[0]).toContain(': other')
  })

  it('leaves the failure of the root to the result that is printed at the end', () => {
    const events = commit('root', ['worker.failed', { failure: { ...failure, attempt: 1 } }])
    expect(new EventLines('root').of(events, rosterAfter(created))).toEqual(['12:00:01  surveyor  failed'])
  })
})

describe('EventLines of an agent', () => {
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
      'ran 2 read, list; write failed in 12ms; it is unknown whether send took effect',
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

  it.each(commits)('EventLines of an agent shows commit %# as one line', (commit, text) => {
    expect(new EventLines().of(commit, roster)).toEqual(text === undefined ? [] : [`12:00:01  planner  ${text}`])
  })
})
