/** The context container: a fold over the entries of a history, the same in any process. */
import { describe, expect, test } from 'vitest'
import { ContextContainer } from '../../src/core/context-container.ts'
import type { Entry } from '../../src/core/entry.ts'

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

function contextOf(...entries: Entry[]): ContextContainer {
  const context = new ContextContainer(session)
  for (const one of entries) context.apply(one)
  return context
}

describe('a context container', () => {
  test('begins empty and to be continued', () => {
    const context = contextOf()
    expect(context.history.isEmpty).toBe(true)
    expect(context.action).toBe('continue')
    expect(context.pending.calls).toEqual([])
    expect(context.toMessages()).toEqual([])
  })

  test('knows the pending turn: what was asked for, started, delegated, and is not answered', () => {
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
  })

  test('keeps facts of the run, and those it was given for good', () => {
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

  test('counts tokens, blanks in a row, and iterations that end with the same errors', () => {
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

  test('a run that ends leaves no call open, in no prompt', () => {
    const context = contextOf(user('go'), asks('a', ['t']), entry({ type: 'cancelled' }))
    expect(context.pending.calls).toEqual([])
    expect(context.action).toBe('stop')
    context.apply(user('again', {}, 2))
    expect(context.history.prompt().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test('tells what children reported, with the facts they were given', () => {
    const context = contextOf(
      user('go'),
      asks('a', ['spawn_workers']),
      entry({
        type: 'delegated',
        toolCallId: 'a-0',
        spawned: [{ call: 1, id: 'c', kind: 'k', name: 'n', facts: ['part'] }],
      }),
      entry({
        type: 'received',
        message: {
          kind: 'result',
          id: 'c:1',
          from: 'c',
          name: 'n',
          workerKind: 'k',
          call: 1,
          status: 'completed',
          value: { text: 'ok', facts: { sum: 3 } },
          failure: null,
        },
      }),
    )
    expect(context.run.children).toEqual([
      { workerId: 'c', name: 'n', kind: 'k', status: 'completed', facts: { sum: 3 }, given: ['part'] },
    ])
  })

  test('passes over what it does not know, and says how often', () => {
    const context = contextOf(user('go'), entry({ type: 'hologram' }), entry({ type: 'user', content: 5 }))
    expect(context.passedOver).toBe(2)
    expect(context.history.length).toBe(1)
  })

  test('gives the prompt first when it is exported', () => {
    const context = contextOf(user('go'))
    context.agentPrompt = 'Be brief.'
    context.pushInput('more', { id: 'm', at: 2 }, 'w2')
    expect(context.toMessages().map(({ type }) => type)).toEqual(['system', 'user', 'user'])
    expect(context.estimatedTokens()).toBe(1)
  })
})
