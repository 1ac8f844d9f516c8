/** Results of tools that are too long for a conversation: the model sees their beginning, and reads the rest as it needs it. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { AgentWorker } from '../../../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type ToolDefinition } from '../../../../../src/core/definition/tool/define-tool.ts'
import type { ToolOutput, ToolResultMessage } from '../../../../../src/core/history/chat/chat-message.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { RedisBlobStore } from '../../../../../src/store/blob-store.ts'
import { sessionKeys } from '../../../../../src/store/keys.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'

/** 300 000 bytes in lines with numbers, with one needle. */
const long = Array.from({ length: 10_000 }, (_, line) =>
  line === 7_777
    ? 'here is the Needle of it all\n '
    : `line ${String(line).padStart(6, '0')} of the report\n`.padEnd(30, '.'),
).join('')

function tool(value: unknown, more: Partial<ToolDefinition> = {}) {
  return defineTool({ name: 'fetch', description: 'x', effect: 'pure', input: z.unknown(), run: () => value, ...more })
}

/** The model calls `fetch`, then the tool that `next` makes of the result, then says so. */
async function life(
  value: unknown,
  next: ((text: string) => Record<string, unknown>[]) | null,
  agent: Partial<AgentWorker> = {},
  more: Partial<ToolDefinition> = {},
) {
  const model = recordedModel('test/m', ({ messages }, number) => {
    const last = messages.at(-1)
    if (number === 1) return call('fetch', {})
    if (number === 2 && next !== null && last?.role === 'tool') {
      const inputs = next(textOf(last.results[0]?.output))
      return {
        content: inputs.map((input, n) => ({
          type: 'tool-call',
          toolCallId: `r${n}`,
          toolName: 'read_result',
          input: input as never,
        })),
      }
    }
    return say('done')
  })
  const troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool(value, more)], ...agent }) },
  })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
  const results = (await troupe.history(session.rootId)).filter(
    (entry) => entry.type === 'toolResult',
  ) as unknown as ToolResultMessage[]
  return { troupe, session, model, results, texts: results.map(({ output }) => textOf(output)) }
}

const textOf = (output: ToolOutput | undefined) =>
  typeof output?.value === 'string' ? output.value : JSON.stringify(output?.value)
const idIn = (text: string) => /read_result\(\{ "id": "([0-9a-f]{32})"/.exec(text)?.[1] ?? ''

describe('a result of more than 200 000 bytes', () => {
  test('a result of over 200 000 bytes is kept whole, and the model sees 10 000 bytes of it and how to read the rest [4.16]', async () => {
    const { troupe, session, model, results, texts } = await life(long, (text) => [
      { id: idIn(text), offset: 10_000 },
      { id: idIn(text), offset: 299_990, length: 50_000 },
      { id: idIn(text), search: 'the needle' },
    ])
    await using _troupe = troupe
    const [shown = '', next, end, found] = texts
    expect(shown.slice(0, 10_000)).toBe(long.slice(0, 10_000))
    expect(shown.slice(10_000)).toMatch(
      /^\n\[Output cut: it has 300000 bytes; only the first 10000 are shown\.\]\n\[The whole result is kept: read_result/,
    )
    expect(Buffer.byteLength(shown)).toBeLessThan(10_400)
    expect(next).toBe(`${long.slice(10_000, 20_000)}\n[Bytes 10000 to 20000 of 300000. Go on with offset 20000.]`)
    expect(end).toBe(`${long.slice(299_990)}\n[Bytes 299990 to 300000 of 300000. This is the end.]`)
    expect(found).toContain('["the needle" stands there once.]\n[at byte 233318] …')
    expect(results[0]).toMatchObject({ status: 'ok', blob: { mediaType: 'text/plain', bytes: 300_000 } })
    // The model has the tool from then on.
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['fetch'],
      ['fetch', 'read_result'],
      ['fetch', 'read_result'],
    ])
    expect((await troupe.client.audit()).findings).toEqual([])
    const { blobs } = sessionKeys(troupe.tag, session.id)
    expect(await troupe.redis.hget(blobs, 'bytes')).toBe('300000')
  })

  test('a result of over 200 000 bytes may be any JSON, and is kept whole even above the former limit of a cut', async () => {
    const value = Array.from({ length: 60_000 }, (_, n) => ({ n, text: 'x'.repeat(30) }))
    const whole = JSON.stringify(value)
    const { troupe, results, texts } = await life(value, (text) => [{ id: idIn(text), offset: whole.length - 10 }])
    await using _troupe = troupe
    expect(results[0]).toMatchObject({ blob: { mediaType: 'application/json', bytes: whole.length } })
    expect(texts[1]).toContain(`${whole.slice(-10)}\n[Bytes`)
  })

  test('a result of over 200 000 bytes is read in whole characters, whatever the offset', async () => {
    const value = '€'.repeat(100_000)
    const { troupe, texts } = await life(value, (text) =>
      [0, 1, 2, 3].map((offset) => ({ id: idIn(text), offset, length: 4 })),
    )
    await using _troupe = troupe
    expect(texts.slice(1).map((text) => text.split('\n')[0])).toEqual(['€€', '€', '€', '€€'])
  })

  test('a result of over 200 000 bytes is shown to the model up to the limit of its tool', async () => {
    const { troupe, texts } = await life('y'.repeat(900), null, {}, { outputBytesMax: 50 })
    await using _troupe = troupe
    expect(texts[0]).toMatch(
      /^y{50}\n\[Output cut: it has 900 bytes; only the first 50 are shown\.\]\n\[The whole result is kept/,
    )
  })

  test('a result of over 200 000 bytes follows the settings of the kind, whose model then has read_result from the beginning', async () => {
    const { troupe, texts, model } = await life('y'.repeat(900), null, { longResults: { over: 800, preview: 70 } })
    await using _troupe = troupe
    expect(texts[0]).toMatch(/^y{70}\n\[Output cut: it has 900 bytes/)
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 2])
    expect(model.requests[1]?.tools).toBe(model.requests[0]?.tools)
  })

  test('a result of over 200 000 bytes is cut if the kind wants no long results', async () => {
    const { troupe, session, texts } = await life(long, null, { longResults: false })
    await using _troupe = troupe
    expect(texts[0]?.slice(200_000)).toBe('\n[Output cut: it has 300000 bytes; only the first 200000 are shown.]')
    expect(await troupe.redis.exists(sessionKeys(troupe.tag, session.id).blobs)).toBe(0)
  })

  test('a result of over 200 000 bytes may be read even if permissions do not name read_result', async () => {
    const model = recordedModel('test/m', ({ messages }, number) => {
      const last = messages.at(-1)
      if (number === 1) return call('fetch', {})
      const text = last?.role === 'tool' ? textOf(last.results[0]?.output) : ''
      return number === 2 ? call('read_result', { id: idIn(text), length: 3 }) : say(text)
    })
    const agent = defineWorker({ instructions: 'x', model, tools: [tool(long)] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'one', { permissions: { tools: ['fetch'] } })
    expect(await session.result()).toMatchObject({ value: { text: expect.stringMatching(/^lin\n\[Bytes 0 to 3/) } })
  })

  test('a long result of another session, or one that nobody kept, is not read', async () => {
    const { troupe, texts, results } = await life(long, () => [
      { id: 'f'.repeat(32) },
      { id: 'no id' },
      { id: 'f'.repeat(32), length: 50_001 },
    ])
    await using _troupe = troupe
    expect(results.slice(1).map(({ status }) => status)).toEqual(['error', 'error', 'error'])
    expect(texts).toContain(`Error: no result with the id "${'f'.repeat(32)}" is kept in this session.`)
  })

  test('a long result that cannot be kept is cut, and the model learns why', async () => {
    const model = recordedModel('test/m', [call('fetch', {}), say('done')])
    const agent = defineWorker({ instructions: 'x', model, tools: [tool(long)] })
    await using troupe = await TestTroupe.start({ workers: { agent }, policy: { sessionBlobBytesMax: 1_000 } })
    const session = await troupe.create('agent')
    expect(await session.result()).toMatchObject({ status: 'completed' })
    const result = (await troupe.history(session.rootId)).find((entry) => entry.type === 'toolResult')
    expect(result?.output.value).toMatch(
      /\[The rest is lost: the long results of this session have as many bytes as they may have\.\]$/,
    )
    expect(result).not.toHaveProperty('blob')
  })

  test('a long result of a `once` call is its result if the run is cancelled while it is being kept', async () => {
    const [keeping, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    using _ = vi.spyOn(RedisBlobStore.prototype, 'keep').mockImplementation(async () => {
      keeping.resolve()
      await cancelled.promise
      return { kind: 'full' }
    })
    const model = recordedModel('test/m', [call('fetch', {}), say('never')])
    const once = tool(long, { effect: 'once', approval: 'never' })
    const agent = defineWorker({ instructions: 'x', model, tools: [once] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent')
    await keeping.promise
    await session.cancel()
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    cancelled.resolve()
    const results = (await troupe.history(session.rootId)).filter((entry) => entry.type === 'toolResult')
    expect(results).toMatchObject([{ status: 'ok' }])
    expect(textOf(results[0]?.output)).toContain(long.slice(0, 10_000))
  })

  test('a result of over 200 000 bytes can be read in a branch of its worker, which has it before its first input', async () => {
    const { troupe, session, texts } = await life(long, null)
    await using _troupe = troupe
    const id = idIn(texts[0] ?? '')
    const worker = troupe.client.workers.get(session.rootId)
    const branch = await troupe.client.sessions.fork(worker, { input: 'go on' })
    const { blobs } = sessionKeys(troupe.tag, branch.id)
    expect(await troupe.redis.hget(blobs, id)).toBe('300000 text/plain')
    expect(await branch.result({ run: 1 })).toMatchObject({ status: 'completed' })
    const again = await troupe.client.sessions.fork(worker, { input: 'go on', idempotencyKey: 'k' })
    expect((await troupe.client.sessions.fork(worker, { input: 'go on', idempotencyKey: 'k' })).id).toBe(again.id)
    expect(
      (await again.root.report()).mailbox.pending +
        (await troupe.history(again.rootId)).filter((one) => one.type === 'user').length,
    ).toBe(2)
    expect((await troupe.client.audit()).findings).toEqual([])
  })
})
