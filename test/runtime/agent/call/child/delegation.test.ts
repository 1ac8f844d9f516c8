/** The delegation of a model: children, messages to live workers, facts for children. */

import type { Json, PromptMessage } from 'troupe'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../../../src/core/errors.ts'
import { newId } from '../../../../../src/core/ids.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { awaitResult } from '../../../../support/time/await-session.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

/** The output of the last call's result in a prompt. */
function lastOutput(messages: readonly PromptMessage[] = []): { type: string; value: Json } {
  const last = messages.at(-1)
  if (last?.role !== 'tool') throw new Error(`the prompt ends with ${last?.role}`)
  return last.results.at(-1)?.output as { type: string; value: Json }
}

function textOf(message: PromptMessage | undefined): string {
  return message?.role === 'user' && message.content[0]?.type === 'text' ? message.content[0].text : ''
}

const jsonOf = (...summaries: string[]) => ({
  type: 'json',
  value: summaries.map((summary) => expect.objectContaining({ status: 'completed', summary })),
})

const spawn = (...tasks: Record<string, Json>[]) => call('spawn_workers', { tasks })

describe('a message to a live worker', () => {
  test('a message goes to a live detached child, with the sender that troupe sets, and to the parent', async () => {
    const child = recordedModel('test/child', ({ messages }, number) => {
      if (number === 1) return say('ready')
      if (number === 2) return call('send_message', { to: 'parent', text: `heard: ${textOf(messages.at(-1))}` })
      return say('told')
    })
    let childId = ''
    const parent = recordedModel('test/parent', ({ messages }, number) => {
      if (number === 1) return spawn({ kind: 'child', input: 'wait', detached: true })
      if (number === 2) {
        childId = (lastOutput(messages).value as { workerId: string }[])[0]?.workerId ?? ''
        return call('send_message', { to: childId, text: 'I am your parent’s parent' })
      }
      return say(number === 3 ? 'sent' : 'heard')
    })
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model: parent, spawns: ['child'] }),
        child: defineWorker({ instructions: 'x', model: child, spawns: ['child'] }),
      },
    })
    const session = await troupe.create('parent', 'go', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ value: { text: 'sent' } })
    expect(await awaitResult(session, { run: 2 })).toMatchObject({
      value: { text: 'heard' },
    })
    const heard = `[message from worker ${session.rootId}]\nI am your parent’s parent`
    expect(textOf(child.requests[1]?.messages.at(-1))).toBe(heard)
    expect(textOf(parent.requests.at(-1)?.messages.at(-1))).toContain(`[message from worker ${childId}]`)
  })

  test.each([
    ['that nobody knows', () => newId(0), 'is not known'],
    ['that is no id', () => 'the boss', 'is not the id of a worker'],
    ['the parent of a root', () => 'parent', 'has no parent'],
  ])('a message to a worker %s is answered as an error', async (_, to, why) => {
    const model = recordedModel('test/m', [call('send_message', { to: to(), text: 'hello' }), say('ok')])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, spawns: ['agent'] }) },
    })
    expect(await troupe.run('agent', 'go')).toMatchObject({ status: 'completed', value: { text: 'ok' } })
    const output = lastOutput(model.requests[1]?.messages)
    expect(output).toMatchObject({ type: 'error-text', value: expect.stringContaining(why) })
  })
})

describe('children', () => {
  test('children beyond the limit of the session are refused, and the model sees the limit', async () => {
    const model = recordedModel('test/m', [
      spawn(...Array.from({ length: 4 }, () => ({ kind: 'child', input: 'x' }))),
      say('too many'),
    ])
    const child = recordedModel('test/child', () => say('done'))
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model, spawns: ['child'] }),
        child: defineWorker({ instructions: 'x', model: child }),
      },
    })
    const result = await troupe.run('parent', 'go', { limits: { children: 3 } })
    expect(result).toMatchObject({ status: 'completed', value: { text: 'too many' } })
    const output = lastOutput(model.requests[1]?.messages)
    expect(output).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('3 children whose results it still awaits'),
    })
    expect(child.requests).toHaveLength(0)
  })

  test('children are offered by kind, with the description of each known kind', async () => {
    const model = recordedModel('test/m', [say('ok')])
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model, spawns: ['reader', 'elsewhere'] }),
        reader: defineWorker({ description: 'Reads what it is given.', receive: () => {} }),
      },
    })
    await troupe.run('parent', 'go')
    const offered = model.requests[0]?.tools.find(({ name }) => name === 'spawn_workers')
    expect(offered?.description).toMatch(/Kinds:\n- reader: Reads what it is given\.\n- elsewhere$/)
  })

  test('children have their own context, and get facts by name and not from a model’s text [3.19]', async () => {
    const find = defineTool({
      name: 'find',
      description: 'x',
      effect: 'pure',
      input: z.object({}),
      run: (_, context) => {
        context.setFact('secret', { code: 'sesame' })
        context.setFact('other', 1)
        return 'found'
      },
    })
    const use = defineTool({
      name: 'use',
      description: 'x',
      effect: 'pure',
      input: z.object({}),
      run: (_, { facts, setFact }) => {
        setFact('seen', { ...facts })
        return 'used'
      },
    })
    const gather = defineTool({
      name: 'await',
      description: 'x',
      effect: 'pure',
      input: z.object({}),
      run: (_, { children }) => children.map(({ facts, given, status }) => ({ facts, given, status })) as never,
    })
    const parent = recordedModel('test/parent', [
      call('find'),
      spawn(
        { kind: 'child', input: { deep: [1] }, facts: ['secret'] },
        { kind: 'child', input: 'b', facts: ['nothing'] },
      ),
      spawn({ kind: 'child', input: { deep: [1] }, facts: ['secret'] }),
      call('await'),
      say('done'),
    ])
    const child = recordedModel('test/child', [call('use'), say('ok')])
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model: parent, tools: [find, gather], spawns: ['child'] }),
        child: defineWorker({ instructions: 'y', model: child, tools: [use] }),
      },
    })
    expect(await troupe.run('parent', 'go')).toMatchObject({ status: 'completed' })
    expect(lastOutput(parent.requests[2]?.messages)).toMatchObject({
      value: expect.stringContaining("no fact 'nothing' for"),
    })
    expect(lastOutput(parent.requests[4]?.messages)).toMatchObject({
      value: [{ status: 'completed', given: ['secret'], facts: { seen: { secret: { code: 'sesame' } } } }],
    })
    // Neither model ever saw the fact; the child saw its input and nothing else of its parent's.
    expect(JSON.stringify([parent.requests.slice(0, 4), child.requests])).not.toContain('sesame')
    expect(child.requests[0]?.messages).toHaveLength(1)
    expect(textOf(child.requests[0]?.messages[0])).toContain('{"deep":[1]}')
  })

  test('children occupy no slot of their parent: a tree that is wider and deeper than the slots of its node ends', async () => {
    const model = recordedModel('test/m', ({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return say('done')
      const depth = Number(textOf(messages[0]).slice(-1))
      if (depth === 0) return say('leaf')
      return spawn(...[0, 1].map(() => ({ kind: 'node', input: `depth ${depth - 1}` })))
    })
    await using troupe = await TestTroupe.start({
      workers: { node: defineWorker({ instructions: 'x', model, spawns: ['node'] }) },
      concurrency: 1,
    })
    const session = await troupe.create('node', 'depth 3')
    expect(await awaitResult(session)).toMatchObject({ value: { text: 'done' } })
    const { workers } = await session.report()
    expect(workers).toHaveLength(15)
    expect(workers.every(({ lifecycle, lastFailure }) => lifecycle === 'idle' && lastFailure === null)).toBe(true)
  })

  test('a waiting parent is reported as waiting for its children', async () => {
    const release = Promise.withResolvers<void>()
    const parent = recordedModel('test/parent', [
      spawn({ kind: 'child', input: 'a' }, { kind: 'child', input: 'b' }),
      say('done'),
    ])
    const child = recordedModel('test/child', async () => {
      await release.promise
      return say('ok')
    })
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model: parent, spawns: ['child'] }),
        child: defineWorker({ instructions: 'x', model: child }),
      },
    })
    const session = await troupe.create('parent', 'go')
    const waiting = await waitUntil('the parent waits and its children ask', async () => {
      const { workers } = await session.report()
      const [root, ...children] = workers
      return (
        root?.status === 'parked' &&
        children.length === 2 &&
        children.every(({ state }) => state === 'requesting') &&
        root
      )
    })
    expect(waiting).toMatchObject({ run: 'ExecutingTools', state: 'waiting', waitsFor: expect.stringContaining('2') })
    release.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed' })
  })

  test('children of a second call are awaited in addition to those of the first, whose results were taken', async () => {
    const release = Promise.withResolvers<void>()
    const child = recordedModel('test/child', async ({ messages }) => {
      if (textOf(messages[0]).endsWith('slow')) await release.promise
      return say('done')
    })
    const task = (input: string) => ({ kind: 'child', input })
    const parent = recordedModel('test/parent', [
      spawn(task('quick'), task('quick')),
      spawn(task('slow'), task('slow')),
      say('all done'),
    ])
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model: parent, spawns: ['child'] }),
        child: defineWorker({ instructions: 'y', model: child }),
      },
    })
    const session = await troupe.create('parent', 'go')
    const { record } = workerKeys(troupe.tag, session.rootId)
    await waitUntil('the parent waits for the slow ones', async () => {
      const [root] = (await session.report()).workers
      return child.requests.length === 4 && root?.status === 'parked'
    })
    expect(await troupe.redis.hmget(record, 'wait', 'crashes')).toEqual(['results:4', null])
    release.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: { text: 'all done' } })
  })

  test('children are awaited if a turn finds only some of their results: a call is answered when all of its children have reported (DELEGATED-2)', async () => {
    const release = Promise.withResolvers<void>()
    const child = recordedModel('test/child', async ({ messages }) => {
      const input = textOf(messages[0])
      if (input.endsWith('slow')) await release.promise
      return say(`${input.split('\n').at(-1)} is done`)
    })
    let tries = 0
    const busy = defineTool({
      name: 'busy',
      description: 'Fails until two children have reported: the turn that tries it again has their results.',
      effect: 'pure',
      async run(_, { workerId }) {
        const { results } = workerKeys(troupe.tag, workerId)
        await waitUntil('two results are there', async () => (await troupe.redis.llen(results)) === 2)
        if (++tries === 1) throw new TransientError('try later', { retryAfterMs: 1 })
        return 'tried'
      },
    })
    const task = (input: string) => ({ kind: 'child', input })
    const asked = together(spawn(task('quick'), task('slow')), spawn(task('alone')), call('busy'))
    const parent = recordedModel('test/parent', [asked, say('done')])
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'x', model: parent, tools: [busy], spawns: ['child'] }),
        child: defineWorker({ instructions: 'y', model: child }),
      },
    })
    const session = await troupe.create('parent', 'go')
    const waiting = await waitUntil('the parent waits for the slow one', async () => {
      const [root] = (await session.report()).workers
      return root?.status === 'parked' && root.waitsFor?.includes('result') && root
    })
    expect(waiting.waitsFor).toContain('1')
    release.resolve()
    expect(await awaitResult(session)).toMatchObject({ value: { text: 'done' } })
    const told = parent.requests[1]?.messages.at(-1)
    const outputs = told?.role === 'tool' ? told.results.map(({ output }) => output) : []
    expect(outputs).toContainEqual(jsonOf('quick is done', 'slow is done'))
    expect(outputs).toContainEqual(jsonOf('alone is done'))
    expect(outputs).toHaveLength(3)
  })
})
