/** What a kind does before its model is asked: its hook `spawn`, and processors that look at the input of a run. */
import { describe, expect, test } from 'vitest'
import type { AgentHooks } from '../../../../src/core/definition/agent/agent-hooks.ts'
import type { Processor, ProcessorSelf } from '../../../../src/core/definition/agent/processors.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError, TransientError } from '../../../../src/core/errors.ts'
import { call, type ScriptedReply, say } from '../../../../src/models/local/scripted-model.ts'
import { expectSound, isParked, openAsks, resultOf, scripted } from '../../../support/person/approvals.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitResult } from '../../../support/time/await-session.ts'

async function run(hooks: AgentHooks, input: unknown = 'go', script: readonly ScriptedReply[] = [say('Done.')]) {
  const model = scripted(...script)
  const made = await runOnce({ instructions: 'x', model, hooks }, input)
  return { ...made, model, [Symbol.asyncDispose]: () => made.troupe[Symbol.asyncDispose]() }
}

const types = (history: readonly { readonly type: string }[]) => history.map(({ type }) => type)
const textsIn = (messages: readonly unknown[] | undefined) =>
  (messages ?? []).flatMap((message) => {
    const { role, content } = message as { role: string; content: { text?: string }[] }
    return role === 'user' ? content.map(({ text }) => text) : []
  })

describe('spawn', () => {
  test('the spawn hook is called once for a worker, and its text stands behind the first input [1.61]', async () => {
    const inputs: unknown[] = []
    const spawn: NonNullable<AgentHooks['spawn']> = (input, { kind }) => {
      inputs.push(input)
      return `You are a ${kind}.`
    }
    await using made = await run({ spawn }, 'first', [say('One.'), say('Two.')])
    await made.session.root.send('second')
    await awaitResult(made.session, { run: 2 })
    expect(inputs).toEqual(['first'])
    expect(made.model.requests.map(({ messages }) => textsIn(messages))).toEqual([
      ['first', 'You are a agent.'],
      ['first', 'You are a agent.', 'second'],
    ])
    await expectSound(made.troupe)
  })

  test('a processor whose spawn throws adds nothing', async () => {
    await using made = await run({ spawn: () => Promise.reject(new Error('no')) })
    expect(made.result).toMatchObject({ status: 'completed' })
    expect(textsIn(made.model.requests[0]?.messages)).toEqual(['go'])
  })
})

describe('a processor', () => {
  test('a processor looks at each input, also where inputs that wait would begin a run together', async () => {
    const seen: unknown[] = []
    const gate = Promise.withResolvers<void>()
    const model = recordedModel('test/m', async (_request, number) => {
      if (number === 1) await gate.promise
      return say(`Reply ${number}.`)
    })
    const look: Processor = (input) => void seen.push(input)
    const agent = defineWorker({ instructions: 'x', model, mergeInput: true, hooks: { prompt: look } })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    for (const text of ['two', 'three']) await session.root.send(text)
    gate.resolve()
    expect(await awaitResult(session, { run: 3 })).toMatchObject({
      value: { text: 'Reply 3.' },
    })
    expect(seen).toEqual(['one', 'two', 'three'])
    await expectSound(troupe)
  })

  test('a processor may let an input pass, change it, and add a text; the next one sees the changed input [3.20]', async () => {
    const seen: unknown[] = []
    const shout: Processor = (input) => {
      seen.push(input)
      return { do: 'transform', input: (input as string).toUpperCase(), context: 'It was loud.' }
    }
    const look: Processor = (input) => void seen.push(input)
    const wrap: Processor = (input) => ({ do: 'transform', input: { said: input } })
    await using made = await run({ prompt: [shout, look, wrap] }, 'hello')
    expect(seen).toEqual(['hello', 'HELLO'])
    expect(textsIn(made.model.requests[0]?.messages)).toEqual(['{"said":"HELLO"}', 'It was loud.'])
    const hooked = made.history.filter(({ type }) => type === 'hooked')
    expect(hooked).toMatchObject([
      { by: 'shout', did: 'transform', ms: expect.any(Number) },
      { by: 'look', did: 'continue', ms: expect.any(Number) },
      { by: 'wrap', did: 'transform', ms: expect.any(Number) },
    ])
    // The history has the input as it was sent.
    expect(made.history[0]).toMatchObject({ type: 'user', content: [{ text: 'hello' }] })
    await expectSound(made.troupe)
  })

  test('a processor that changes an input leaves what goes with it', async () => {
    const model = scripted(say('Done.'))
    const hooks: AgentHooks = { prompt: (input) => ({ do: 'transform', input: (input as string).toUpperCase() }) }
    const context = { facts: { branch: () => 'main' } }
    const { troupe } = await runOnce({ instructions: 'x', model, hooks, context }, 'hello')
    await using _ = troupe
    const [text] = textsIn(model.requests[0]?.messages)
    expect(text).toMatch(/\[branch\]\nmain\n[\s\S]*--- USER MESSAGE BEGIN ---\nHELLO\n/)
  })

  test('a processor gives tools the changed input, and sees the input of each run', async () => {
    const inputs: unknown[] = []
    const noting = defineTool({
      name: 'note',
      description: 'Notes.',
      effect: 'pure',
      run: (_input, context) => void inputs.push(context.input),
    })
    const model = scripted(call('note'), say('One.'), call('note'), say('Two.'))
    const prompt: Processor = (input) => ({ do: 'transform', input: `${input as string}!` })
    const { troupe, session } = await runOnce({ instructions: 'x', model, tools: [noting], hooks: { prompt } }, 'a')
    await using _ = troupe
    await session.root.send('b')
    await awaitResult(session, { run: 2 })
    expect(inputs).toEqual(['a!', 'b!'])
    expect(textsIn(model.requests[3]?.messages)).toEqual(['a!', 'b!'])
  })

  test('a processor may end the run with a reason, and later prompts leave its input out [3.20]', async () => {
    const prompt = function guard(input: unknown) {
      return input === 'bad' ? ({ do: 'abort', reason: 'it is bad' } as const) : undefined
    }
    await using made = await run({ prompt }, 'bad')
    expect(made.result).toMatchObject({
      status: 'failed',
      failure: { code: 'input_refused', message: expect.stringMatching(/was refused by processor guard: it is bad$/) },
    })
    expect(made.model.requests).toEqual([])
    await made.session.root.send('good')
    const again = await awaitResult(made.session, { run: 2 })
    expect(again).toMatchObject({ status: 'completed' })
    expect(textsIn(made.model.requests[0]?.messages)).toEqual([
      '(a message was left out here: this worker did not accept it, and nobody answered it)',
      'good',
    ])
    await expectSound(made.troupe)
  })

  test('a processor may let the run wait for a person, without a slot, and is called again with the answer [3.20]', async () => {
    const calls: ProcessorSelf['answer'][] = []
    const prompt: Processor = (_input, { answer }) => {
      calls.push(answer)
      if (answer === null) return { do: 'suspend', question: 'Is it allowed?', options: ['yes', 'no'] }
      return answer.value === 'yes'
        ? { do: 'continue', context: 'It is allowed.' }
        : { do: 'abort', reason: 'not allowed' }
    }
    const before: Processor = (input) => ({ do: 'transform', input: `${input as string} now` })
    const model = scripted(say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, hooks: { prompt: [before, prompt] } })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    const [ask] = await openAsks(troupe)
    await isParked(session)
    expect(ask).toMatchObject({ question: 'Is it allowed?', kind: 'question' })
    expect(await session.root.report()).toMatchObject({ state: 'waiting', openAsks: [{ id: ask?.id }] })
    await expectSound(troupe)
    await troupe.client.asks.answer(ask?.id as string, 'yes', { by: 'ada' })
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(calls).toEqual([null, { status: 'answered', value: 'yes', by: 'ada', reason: null }])
    expect(textsIn(model.requests[0]?.messages)).toEqual(['go now', 'It is allowed.'])
    expect(types(await troupe.history(session.rootId))).toEqual([
      'user',
      'hooked',
      'hooked',
      'asked',
      'received',
      'hooked',
      'user',
      'assistant',
      'completed',
    ])
    await expectSound(troupe)
  })

  test('a processor that waits learns that nobody answered in time, and may wait again under another id', async () => {
    const prompt: Processor = (_input, { answer }) => {
      if (answer === null) return { do: 'suspend', question: 'Who?', expiresMs: 50 }
      return answer.status === 'expired'
        ? { do: 'suspend', question: 'Anybody?' }
        : { do: 'transform', input: answer.value }
    }
    const model = scripted(say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, hooks: { prompt } })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    const ask = await (async () => {
      for (;;) {
        const asks = await troupe.client.asks.list()
        const found = asks.find(({ question }) => question === 'Anybody?')
        if (found) return found
        await isParked(session)
      }
    })()
    await troupe.client.asks.answer(ask.id, 'me')
    expect(await resultOf(session)).toMatchObject({ status: 'completed' })
    expect(textsIn(model.requests[0]?.messages)).toEqual(['me'])
    await expectSound(troupe)
  })

  test('a wait of a processor is withdrawn with its run', async () => {
    const prompt: Processor = () => ({ do: 'suspend', question: 'Who?' })
    const clerk = defineWorker({ instructions: 'x', model: scripted(say('never')), hooks: { prompt } })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk', 'go')
    await openAsks(troupe)
    await isParked(session)
    await session.cancel()
    expect(await resultOf(session)).toMatchObject({ status: 'cancelled' })
    expect(await troupe.client.asks.list()).toEqual([])
    await expectSound(troupe)
  })

  test.each<[string, Processor, RegExp]>([
    [
      'that throws',
      () => Promise.reject(new Error('no rules')),
      /processor prompt\[0\] of worker agent .* failed: no rules/,
    ],
    ['that answers nonsense', () => 'fine' as never, /it answered "fine", not continue, transform, abort or suspend/],
    ['that asks nothing', () => ({ do: 'suspend', question: ' ' }), /its question must be a text of 1 to \d+ bytes/],
    ['that changes the input to what is no JSON', () => ({ do: 'transform', input: 1n }), /the input/],
  ])('%s fails the run, and no model gets the input (HOOKS-2)', async (_what, processor, message) => {
    await using made = await run({ prompt: [(...given) => processor(...given)] })
    expect(made.result).toMatchObject({ status: 'failed', failure: { message: expect.stringMatching(message) } })
    expect(made.model.requests).toEqual([])
    await expectSound(made.troupe)
  })

  test('a processor that fails for a while is tried again, behind those that have ended (PREPARE-1)', async () => {
    const ran: string[] = []
    const first: Processor = () => void ran.push('first')
    const flaky: Processor = () => {
      ran.push('flaky')
      if (ran.length < 3) throw new TransientError('busy', { retryAfterMs: 1 })
    }
    const model = scripted(say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, hooks: { prompt: [first, flaky] } })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { modelBackoffMs: 1 } })
    expect(await troupe.run('clerk')).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['first', 'flaky', 'flaky'])
  })

  test.each([{ prompt: [] }, { prompt: 'x' }, { prompt: [1] }])('%j throws a ConfigError [3.20]', (hooks) => {
    expect(() => defineWorker({ instructions: 'x', hooks: hooks as never })).toThrow(ConfigError)
  })
})
