/** A prompt begins as the one before it, byte by byte, whatever is added: so a provider finds it in its cache. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../src/core/definition/model.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say } from '../../src/models/local/scripted-model.ts'
import { openModels } from '../../src/models/model-source.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { senders } from './support/sent-requests.ts'
import { listener } from './support/surfaces.ts'

const long = defineTool({
  name: 'look_up',
  description: 'x',
  effect: 'pure',
  input: z.unknown(),
  run: () => 'row\n'.repeat(60_000),
})

let requests: readonly ModelRequest[]

/** Three runs with tools, a long result, files, skills, the time and facts. */
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-prefix-'))
  await writeFile(join(folder, 'NOTES.md'), 'Notes that stay.')
  const model = recordedModel('test/m', [
    call('look_up', {}, 'c1'),
    say('one'),
    call('look_up', {}, 'c2'),
    call('read_skill', { name: 'a' }, 'c3'),
    say('two'),
    say('three'),
  ])
  let count = 0
  const agent = defineWorker({
    instructions: 'Be kind.',
    model,
    tools: [long],
    folder: () => folder,
    longResults: {},
    skills: [{ name: 'a', description: 'b', text: 'c' }],
    context: { files: ['*.md'], time: true, facts: { count: () => String(++count) } },
  })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'first', { keepOpen: true })
  for (const run of [1, 2, 3]) {
    if (run > 1) await session.root.send(`input ${run}`)
    await session.result({ run })
  }
  requests = model.requests
  await rm(folder, { recursive: true })
})

/** Splits a body: what it holds of the conversation, in its order; and all else. */
function partsOf(body: unknown): { readonly turns: readonly string[]; readonly rest: string } {
  const { messages, input, contents, ...rest } = body as Record<string, unknown>
  const turns = (messages ?? input ?? contents) as readonly unknown[]
  return { turns: turns.map((turn) => JSON.stringify(turn)), rest: JSON.stringify(rest) }
}

describe('the body of each request', () => {
  test.each(senders)('the body of each request to $name begins with all of the one before it', async ({ bodyOf }) => {
    expect(requests).toHaveLength(6)
    const bodies: ReturnType<typeof partsOf>[] = []
    for (const request of requests) bodies.push(partsOf(await bodyOf(request)))
    for (const [index, before] of bodies.slice(0, -1).entries()) {
      const next = bodies[index + 1]
      expect(next?.rest).toBe(before.rest)
      expect(next?.turns.slice(0, before.turns.length)).toEqual(before.turns)
      expect(next?.turns.length).toBeGreaterThan(before.turns.length)
    }
  })
})

describe('the mark of a prompt that its provider is to cache', () => {
  const sent: string[] = []
  const own = globalThis.fetch
  afterAll(() => {
    globalThis.fetch = own
  })

  async function bodyOf(model: string, settings: ModelRequest['settings'] = {}): Promise<Record<string, unknown>> {
    sent.length = 0
    globalThis.fetch = async (_input: unknown, init?: RequestInit) => {
      sent.push(init?.body as string)
      return new Response('{"type":"error","error":{"type":"invalid_request_error","message":"No."}}', { status: 400 })
    }
    const opened = openModels({ env: { ANTHROPIC_API_KEY: 'key' } }).open(model)
    await opened.reply({ ...(requests[0] as ModelRequest), settings }, listener()).catch(() => {})
    globalThis.fetch = own
    return JSON.parse(sent[0] ?? '{}') as Record<string, unknown>
  }

  test('the cache mark of a prompt stands beside the messages, for models of Anthropic alone, and a kind may change it', async () => {
    const body = await bodyOf('anthropic/claude-test-1')
    expect(body.cache_control).toEqual({ type: 'ephemeral' })
    expect(JSON.stringify(body.messages)).not.toContain('cache_control')
    expect(await bodyOf('anthropic/another-model')).not.toHaveProperty('cache_control')
    const cacheControl = { type: 'ephemeral', ttl: '1h' }
    const changed = await bodyOf('anthropic/claude-test-1', { providerOptions: { anthropic: { cacheControl } } })
    expect(changed.cache_control).toEqual(cacheControl)
  })
})
