/** The context container, built from the entries of a history, is the same in any process. */
import { describe, expect, test, vi } from 'vitest'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { ContextContainer } from '../../../src/core/history/context-container.ts'
import type { Entry } from '../../../src/core/history/entry.ts'

const session = { sessionId: 's', workerId: 'w', name: 'n', kind: 'k', parentId: null, depth: 0 }
const head = { v: 1, at: 1, run: 1, epoch: 1 }
const usage = { inputTokens: 3, outputTokens: 4 }

function entry(facts: Record<string, unknown>, run = 1): Entry {
  return { ...head, run, ...facts } as unknown as Entry
}
const user = (text: string, more = {}, run = 1) =>
  entry({ type: 'user', id: 'u', content: [{ type: 'text', text }], ...more }, run)
const asks = (id: string, names: string[], run = 1) =>
  entry(
    {
      type: 'assistant',
      id,
      model: 'm/m',
      finishReason: 'tool-calls',
      usage,
      content: names.map((toolName, index) => ({
        type: 'tool-call',
        toolCallId: `${id}-${index}`,
        toolName,
        input: {},
      })),
    },
    run,
  )
const result = (toolCallId: string, toolName: string, status = 'ok', value = 'x', more = {}) =>
  entry({
    type: 'toolResult',
    id: `r-${toolCallId}`,
    toolCallId,
    toolName,
    status,
    output: { type: 'text', value },
    ...more,
  })

const reported = (from: string, call: number, more = {}) =>
  entry({
    type: 'received',
    message: {
      kind: 'result',
      id: `${from}:${call}`,
      from,
      name: 'n',
      workerKind: 'k',
      call,
      status: 'completed',
      value: { text: 'ok', facts: { sum: 3 } },
      failure: null,
      ...more,
    },
  })
const delegates = (toolCallId: string, call: number, more = {}) =>
  entry({ type: 'delegated', toolCallId, spawned: [{ call, id: 'c', kind: 'k', name: 'n', ...more }] })
const completed = entry({ type: 'completed', value: { text: '' } })

function contextOf(...entries: Entry[]): ContextContainer {
  const context = new ContextContainer(session)
  for (const one of entries) context.apply(one)
  return context
}

describe('a context container', () => {
  test('a context container begins empty, and asks the model next [1.1]', () => {
    const context = contextOf()
    expect(context.session).toBe(session)
    expect([context.firstInput, context.input, context.lastReply]).toEqual([null, null, null])
    expect(context.history.isEmpty).toBe(true)
    expect(context.action).toBe('continue')
    expect(context.pending.calls).toEqual([])
    expect(context.toMessages()).toEqual([])
  })

  test('a context container knows the pending turn: calls that were made, started or delegated and have no result [0.7]', () => {
    const context = contextOf(
      user('go'),
      asks('a', ['t', 'pay', 'spawn_workers']),
      entry({ type: 'toolStarted', toolCallId: 'a-1', toolName: 'pay' }),
      entry({ type: 'delegated', toolCallId: 'a-2', spawned: [{ call: 1, id: 'c', kind: 'k', name: 'n' }] }),
      result('a-0', 't'),
    )
    expect(context.pending.calls.map(({ toolCallId }) => toolCallId)).toEqual(['a-1', 'a-2'])
    expect([...context.pending.started]).toEqual(['a-1'])
    expect([...context.pending.delegated.keys()]).toEqual(['a-2'])
    expect(context.action).toEqual({ callTool: 'pay' })
    for (const [id, name] of [
      ['a-1', 'pay'],
      ['a-2', 'spawn_workers'],
    ] as const)
      context.apply(result(id, name))
    expect(context.action).toBe('continue')
    context.apply(asks('b', []))
    context.apply(completed)
    expect(context.action).toBe('stop')
  })

  test('a context container keeps facts of the run until it ends, and facts of the parent for the whole life', () => {
    const context = contextOf(
      user('go', { facts: { part: 1 } }),
      asks('a', ['t']),
      result('a-0', 't', 'ok', 'x', { facts: { found: 2, __proto__: null } }),
    )
    expect({ ...context.facts }).toEqual({ part: 1, found: 2 })
    context.apply(entry({ type: 'completed', value: { text: '' } }))
    context.apply(user('again', {}, 2))
    expect({ ...context.facts }).toEqual({ part: 1 })
    expect(context.run.iterations).toBe(0)
    expect([context.firstInput, context.input]).toEqual(['go', 'again'])
  })

  test('a context container counts tokens, blanks in a row, and iterations that end with the same errors', () => {
    const blank = entry({ type: 'blank', model: 'm', finishReason: 'stop', usage })
    const context = contextOf(user('go'), blank, blank)
    expect(context.run).toMatchObject({ iterations: 0, blanks: 2, tokens: 14 })
    for (const [id, text, same] of [
      ['a', 'bad', 1],
      ['b', 'bad', 2],
      ['c', 'worse', 1],
      ['d', 'worse', 2],
    ] as const) {
      context.apply(asks(id, ['t', 'u']))
      context.apply(result(`${id}-1`, 'u'))
      context.apply(result(`${id}-0`, 't', 'error', text))
      expect(context.run.sameErrors).toBe(same)
    }
    context.apply(asks('e', ['t']))
    context.apply(result('e-0', 't'))
    expect(context.run).toMatchObject({ iterations: 5, blanks: 0, tokens: 49, sameErrors: 0 })
  })

  test('the end of a run closes all calls, in every prompt', () => {
    const context = contextOf(user('go'), asks('a', ['t']), entry({ type: 'cancelled' }))
    expect(context.pending.calls).toEqual([])
    expect(context.action).toBe('stop')
    context.apply(user('again', {}, 2))
    expect(context.history.prompt().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('a context container holds the results of children, with the names of the facts that they got', () => {
    const failure = { code: 'run_failed', message: 'no luck', origin: 'handler', at: 1, attempt: 1, retryable: false }
    const first = reported('c', 1)
    const second = reported('d', 2, { status: 'failed', value: null, failure })
    const context = contextOf(
      user('go'),
      asks('a', ['spawn_workers', 'spawn_workers']),
      delegates('a-0', 1, { facts: ['part'] }),
      delegates('a-1', 2),
      first,
      second,
    )
    const child = { name: 'n', kind: 'k' }
    expect(context.run.children).toStrictEqual([
      { ...child, workerId: 'c', status: 'completed', facts: { sum: 3 }, given: ['part'] },
      { ...child, workerId: 'd', status: 'failed', facts: {}, given: [], failure: 'no luck' },
    ])
    expect([...context.pending.childResults.entries()]).toEqual([
      [1, (first as { message?: unknown }).message],
      [2, (second as { message?: unknown }).message],
    ])
  })

  test.each([['a text'], [5], [[1]], [null]])('a context container reads %j as no facts of a child', (facts) => {
    const told = reported('c', 1, { value: { facts } })
    const context = contextOf(user('go'), asks('a', ['spawn_workers']), delegates('a-0', 1), told)
    expect(context.run.children).toMatchObject([{ workerId: 'c', facts: {} }])
    expect(context.run.children[0]?.facts).toStrictEqual({})
  })

  test('a message other than a result is no report of a child', () => {
    const timer = entry({ type: 'received', message: { kind: 'timer', id: 't', from: null, value: 1 } })
    expect(contextOf(user('go'), timer).run.children).toEqual([])
  })

  test.each([
    ['the model replies again', asks('b', ['t'])],
    ['the run ends', completed],
    ['a run begins', user('again', {}, 2)],
  ])('a context container forgets the pending turn when %s', (_, next) => {
    const started = entry({ type: 'toolStarted', toolCallId: 'a-1', toolName: 'pay' })
    const context = contextOf(user('go'), asks('a', ['spawn_workers', 'pay']), delegates('a-0', 1), started)
    context.apply(reported('c', 1))
    expect([context.pending.started.size, context.pending.delegated.size, context.pending.childResults.size]).toEqual([
      1, 1, 1,
    ])
    context.apply(next)
    expect([context.pending.started.size, context.pending.delegated.size, context.pending.childResults.size]).toEqual([
      0, 0, 0,
    ])
  })

  test('a call counts as started until it is answered or its attempt has failed', () => {
    const started = (id: string) => entry({ type: 'toolStarted', toolCallId: id, toolName: 'pay' })
    const context = contextOf(
      user('go'),
      asks('a', ['pay', 'pay', 'pay']),
      started('a-0'),
      started('a-1'),
      started('a-2'),
    )
    context.apply(result('a-0', 'pay'))
    expect([...context.pending.started]).toEqual(['a-1', 'a-2'])
    context.apply(entry({ type: 'attemptFailed' }))
    context.apply(entry({ type: 'attemptFailed', toolCallIds: ['a-2'] }))
    expect([...context.pending.started]).toEqual(['a-1'])
  })

  test('a context container knows the newest reply of the run in progress, and none before or after it', () => {
    const context = contextOf(user('go'))
    expect(context.lastReply).toBeNull()
    context.apply(asks('a', ['t']))
    context.apply(asks('b', ['t']))
    expect(context.lastReply?.id).toBe('b')
    context.apply(result('b-0', 't'))
    expect(context.lastReply?.id).toBe('b')
    context.apply(completed)
    expect(context.lastReply).toBeNull()
  })

  test('a run must fail with its first failure, and the next run has none', () => {
    const failed = (code: string) => ({
      failure: { code, message: code, origin: 'tool', at: 1, attempt: 1, retryable: false },
    })
    const context = contextOf(user('go'), asks('a', ['t', 't', 't']))
    expect(context.run.failure).toBeNull()
    context.apply(result('a-0', 't'))
    context.apply(result('a-1', 't', 'error', 'x', failed('tool_failed')))
    context.apply(result('a-2', 't', 'error', 'x', failed('tool_unknown')))
    expect(context.run.failure?.code).toBe('tool_failed')
    context.apply(entry({ type: 'failed', failure: failed('tool_failed').failure }))
    expect(context.run.failure).toBeNull()
  })

  test('the same errors in another order count as the same', () => {
    const context = contextOf(user('go'))
    for (const [id, order] of [
      ['a', [0, 1]],
      ['b', [1, 0]],
    ] as const) {
      context.apply(asks(id, ['t', 'u']))
      for (const place of order) context.apply(result(`${id}-${place}`, place === 0 ? 't' : 'u', 'error', 'bad'))
    }
    expect(context.run.sameErrors).toBe(2)
  })

  test('a context container continues after the end of a run, and counts a run that began without an input', () => {
    const context = contextOf(user('go'), asks('a', ['t']), result('a-0', 't'), completed)
    expect([context.action, context.run.iterations, context.input]).toEqual(['stop', 0, null])
    context.apply(user('again', {}, 2))
    expect([context.action, context.run.iterations, context.input]).toEqual(['continue', 0, 'again'])
    context.apply(asks('b', [], 2))
    // An entry that an older run left behind does not begin it again.
    context.apply(entry({ type: 'hologram' }, 1))
    expect(context.run.iterations).toBe(1)
    context.apply(entry({ type: 'hologram' }, 3))
    expect([context.run.iterations, context.input, context.firstInput]).toEqual([0, null, 'go'])
  })

  test('a refused input does not count as the first input', () => {
    const failed = (code: string, run = 1) => entry({ type: 'failed', failure: { code, message: 'x' } }, run)
    const second = (...before: Entry[]) => contextOf(user('one'), ...before, user('two', {}, 2)).firstInput
    expect([second(failed('input_invalid')), second(failed('permission_exceeded'))]).toEqual(['two', 'two'])
    expect(second(failed('model_unavailable'))).toBe('one')
    expect(second(asks('a', []), failed('input_invalid'))).toBe('one')
    expect(contextOf(user('one'), completed, user('two', {}, 2), failed('input_invalid', 2)).firstInput).toBe('one')
  })

  test.each([
    ['{"path":"a"}', { path: 'a' }],
    ['[1]', [1]],
    ['"text"', 'text'],
    [' 7', 7],
    ['-1', -1],
    ['true', true],
    ['false', false],
    ['null', null],
    ['no json', 'no json'],
    ['{half', '{half'],
    ['', ''],
  ])('an input %j is read as %j', (text, value) => {
    // A nudge, which follows it in the same run, is none, whatever was asked before.
    const contexts = [contextOf(user(text)), contextOf(user(text), user('nudge'))]
    for (const context of contexts) expect([context.input, context.firstInput]).toEqual([value, value])
  })

  test('an input of JSON is kept as its text until it is read', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const context = contextOf(user('{"path":"a"}'), user('nudge'))
    expect(parse).not.toHaveBeenCalled()
    expect([context.input, context.input]).toEqual([{ path: 'a' }, { path: 'a' }])
    expect(parse).toHaveBeenCalledOnce()
    parse.mockRestore()
  })

  test('a context container passes over unknown entries and counts them (CONTAINER-2)', () => {
    const context = contextOf(user('go'), entry({ type: 'hologram' }), entry({ type: 'user', content: 5 }))
    expect(context.passedOver).toBe(2)
    expect(context.history.length).toBe(1)
  })

  test('a context container puts the prompt first when it is exported', () => {
    const context = contextOf(user('go'))
    context.agentPrompt = 'Be brief.'
    context.push({ ...chat.user('more', { id: 'm', at: 2 }), from: 'w2' })
    context.conversationHistory.pushInputMessage('and more', { at: 3 })
    const said = { type: 'user', content: [{ type: 'text', text: 'more' }] }
    const andMore = { type: 'user', content: [{ type: 'text', text: 'and more' }] }
    expect(context.toMessages()).toStrictEqual([
      { type: 'system', id: 'prompt', at: 0, text: 'Be brief.' },
      expect.objectContaining({ type: 'user', id: 'u' }),
      { ...said, id: 'm', at: 2, from: 'w2' },
      { ...andMore, id: '2', at: 3 },
    ])
    // 9 bytes of the prompt, and 14 of the messages.
    expect(context.estimatedTokens()).toBe(5)
  })

  test('a context container gives a model its prompt and the system messages of the conversation as instructions', () => {
    const context = contextOf(user('go'))
    expect(context.instructions).toBe('')
    context.agentPrompt = 'Be brief.'
    context.push({ type: 'system', id: 's', at: 1, text: 'Speak French.' })
    expect(context.instructions).toBe('Be brief.\n\nSpeak French.')
  })

  test('a message that somebody pushed is the input of no run but one that has none of its own', () => {
    const pushed = [user('note', { pushed: true, at: 5 }), user('newest', { pushed: true, at: 6 })]
    const sent = contextOf(...pushed, user('go', { at: 70 }))
    expect([sent.input, sent.firstInput, sent.run.startedAt]).toEqual(['go', 'go', 70])
    sent.apply(entry({ type: 'hooked', hook: 'prompt', did: 'transform', content: [{ type: 'text', text: 'GO' }] }))
    const [prompt] = sent.history.prompt()
    expect(prompt?.role === 'user' && prompt.content.map((block) => 'text' in block && block.text)).toEqual([
      'note',
      'newest',
      'GO',
    ])
    const ordered = contextOf(...pushed, entry({ type: 'ordered', message: 'o', order: { do: 'run' }, at: 70 }))
    expect([ordered.input, ordered.firstInput, ordered.run.startedAt]).toEqual(['newest', 'newest', 70])
  })

  test('a reply that somebody pushed is none of the next run', () => {
    const pushed = entry({ ...asks('a', []), content: [{ type: 'text', text: 'note' }], pushed: true })
    const context = contextOf(pushed, user('go'))
    expect([context.run.iterations, context.run.tokens, context.lastReply, context.input]).toEqual([0, 0, null, 'go'])
  })

  test('what a model refused is left out of later prompts: what was pushed before it, and what steered the run since its last reply', () => {
    const refused = (run = 1) =>
      entry({ type: 'failed', failure: { code: 'model_refused', message: 'x' }, leftOut: true }, run)
    const bad = (more: object, run = 1) => user('BAD', more, run)
    const steer = bad({ when: 'steer' })
    const cases: readonly (readonly Entry[])[] = [
      [bad({ pushed: true }), user('go'), refused()],
      [user('go'), asks('a', ['t']), result('a-0', 't'), steer, refused()],
      [user('go'), entry({ ...asks('a', []), content: [{ type: 'text', text: 'said' }] }), steer, refused()],
    ]
    for (const entries of cases) {
      const prompt = JSON.stringify(contextOf(...entries, user('next', {}, 2)).history.prompt())
      expect(prompt).toMatch(/a message was left out here: the model could not take it.*next/)
      expect(prompt).not.toContain('BAD')
    }
  })

  test('a context container sees messages pushed to its history like those pushed to itself [1.9]', () => {
    const context = contextOf(user('go'), asks('a', ['t']), result('a-0', 't'), completed)
    expect(context.action).toBe('stop')
    context.conversationHistory.pushInputMessage('more')
    expect([context.action, context.input]).toEqual(['continue', 'more'])
    context.conversationHistory.pushAssistantMessage('done')
    expect(context.lastReply?.content).toEqual([{ type: 'text', text: 'done' }])
    expect(context.conversationHistory.getEntries().at(-1)).toEqual({ user: null, assistant: context.lastReply })
  })

  test('a context container refuses a value that is no message, and adds nothing', () => {
    const context = contextOf(user('go'))
    expect(() => context.push({ role: 'user', content: 'hi' } as never)).toThrow(/^message 1 has no type of troupe/)
    expect(context.toMessages()).toHaveLength(1)
  })

  test.each(['input_invalid', 'permission_exceeded'])(
    'a context container leaves an input that failed with %s out of later prompts',
    (code) => {
      const failure = { code, message: 'no', origin: 'runtime', at: 1, attempt: 1, retryable: false }
      const failed = { v: 1, at: 1, run: 1, epoch: 1, type: 'failed', failure } as unknown as Entry
      const context = contextOf(user('BAD'), failed)
      context.push(chat.user('hello', { id: 'm', at: 2 }))
      const prompt = JSON.stringify(context.history.prompt())
      expect(prompt).not.toContain('BAD')
      expect(prompt).toMatch(/a message was left out here: it .*hello/)
    },
  )
})
