/** A conversation that fills the window of its model goes on with a summary, and loses nothing by a summary that goes wrong. */
import { describe, expect, test } from 'vitest'
import type { CompactionSettings } from '../../../../src/core/definition/agent/compaction-settings.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../src/core/definition/model.ts'
import { ConfigError, TerminalError, TransientError } from '../../../../src/core/errors.ts'
import { call, type ScriptedReply, say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle, awaitResult } from '../../../support/time/await-session.ts'

const isHandoff = ({ instructions }: ModelRequest) => instructions.startsWith('You write the handoff')
const counted = (reply: ScriptedReply, inputTokens: number): ScriptedReply => ({
  ...reply,
  usage: { inputTokens, outputTokens: 0 },
})
const textOf = (request: ModelRequest | undefined) => JSON.stringify(request?.messages)
const small: CompactionSettings = { window: 1_000, keep: 2 }

/** A conversation with an agent that echoes; `tokens`: what its provider counts of each prompt, in turn. */
async function talk(
  inputs: number,
  tokens: readonly number[],
  write: () => ScriptedReply | Error,
  settings = small,
  limits = {},
) {
  let asked = 0
  const model = recordedModel('test/m', (request) => {
    if (!isHandoff(request)) return counted(say(`answer ${++asked}`), tokens[asked - 1] ?? 100)
    const written = write()
    if (written instanceof Error) throw written
    return written
  })
  const agent = defineWorker({ instructions: 'x', model, compaction: settings })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'question 1', { keepOpen: true, limits })
  for (let run = 1; run <= inputs; run++) {
    if (run > 1) await session.root.send(`question ${run}`)
    expect(await session.result({ run })).toMatchObject({ status: 'completed', value: { text: `answer ${run}` } })
  }
  const events = async () =>
    (await Array.fromAsync(session.events({ after: '0-0', follow: false }))).map(({ type }) => type)
  const requests = () => model.requests.filter((request) => !isHandoff(request))
  const handoffs = () => model.requests.filter(isHandoff)
  return { troupe, session, events, requests, handoffs }
}

describe('a conversation', () => {
  test('a conversation that has filled 85 % of the window goes on with a summary of its beginning [1.56, 4.7, 4.8]', async () => {
    const { troupe, session, requests, handoffs } = await talk(4, [100, 200, 860, 150], () => say('They counted.'))
    await using _ = troupe
    expect(handoffs()).toHaveLength(1)
    expect(handoffs()[0]?.tools).toEqual([])
    expect(textOf(handoffs()[0])).toMatch(/USER: question 1.*ASSISTANT: answer 1.*USER: question 2/)
    expect(textOf(requests()[3])).toMatch(
      /Previous conversation handoff\]\\nThey counted\..*question 3.*answer 3.*question 4/,
    )
    expect(textOf(requests()[3])).not.toContain('question 1')
    const history = await session.root.history()
    expect(history.filter(({ entry }) => entry.type === 'user')).toHaveLength(4)
    const at = history.findIndex(({ entry }) => entry.type === 'compacted')
    const times = history.slice(at - 1, at + 2).map(({ entry }) => entry.at)
    expect([at > 0, times]).toEqual([true, times.toSorted((one, other) => one - other)])
    expect((await session.root.metadata())['compact.last_run_timestamp']).toBe(new Date(times[1] ?? 0).toISOString())
    expect((await session.root.report()).usage).toMatchObject({ modelCalls: 5 })
    expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
  })

  test.each([
    ['nothing', () => say('')],
    ['a call', () => call('look')],
    ['half of it', (): ScriptedReply => ({ ...say('It'), finishReason: 'length' })],
    ['more than there was', () => say('x'.repeat(5_000))],
    ['an error', () => new TerminalError('no', { code: 'model_refused' })],
  ])('a conversation stays as it is if the summariser writes %s, and an event says so', async (_what, write) => {
    const { troupe, session, events, requests } = await talk(4, [100, 200, 860, 870], write)
    await using _ = troupe
    expect(textOf(requests()[3])).toContain('question 1')
    expect(textOf(requests()[3])).not.toContain('handoff')
    await expect.poll(events).toContain('compaction.failed')
    expect((await session.root.report()).lastFailure).toBeNull()
  })

  test('a conversation is compacted by its own model with its own instruction, at its own share of the window [1.55]', async () => {
    const writer = recordedModel('test/writer', () => say('They counted.'))
    const settings = { ...small, at: 0.5, model: writer, instruction: 'the name of the dog' }
    const { troupe, handoffs } = await talk(4, [100, 200, 510, 100], () => say('never asked'), settings)
    await using _ = troupe
    expect(handoffs()).toEqual([])
    expect(writer.requests).toHaveLength(1)
    expect(textOf(writer.requests[0])).toContain('the name of the dog')
  })

  test('a conversation is not compacted while it is short, or if its kind says so', async () => {
    const short = await talk(2, [100, 900], () => say('never asked'))
    await using _short = short.troupe
    expect(short.handoffs()).toEqual([])
  })
})

/** A run that reads files until it has read enough; the provider refuses prompts of more than `most` parts. */
async function read(most: number, compaction: CompactionSettings | false, limits = {}) {
  const model = recordedModel('test/m', (request) => {
    if (isHandoff(request)) return say('Files 1 to 3 hold nothing.')
    if (request.messages.length > most) throw new TerminalError('prompt is too long', { code: 'context_overflow' })
    const reads = request.idempotencyKey.split('/')[2]
    return Number.parseInt(reads ?? '0', 10) < 6 ? call('read') : say('Nothing was found.')
  })
  const tools = [tool('read', () => 'a line')]
  const agent = defineWorker({ instructions: 'x', model, tools, compaction })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'Find the key.', { keepOpen: true, limits })
  const result = await session.result({ run: 1 })
  return { troupe, session, result, requests: model.requests }
}

describe('a prompt that is too long', () => {
  test('a prompt that is too long is compacted and sent again, and its task is in it word by word [1.52]', async () => {
    const { troupe, result, requests } = await read(8, { keep: 2 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Nothing was found.' } })
    expect(requests.filter(isHandoff).length).toBeGreaterThan(0)
    const last = requests.at(-1)
    expect(textOf(last)).toMatch(/Files 1 to 3 hold nothing\..*\[The task in progress, word by word\]\\nFind the key\./)
    const keys = requests.map(({ idempotencyKey }) => idempotencyKey)
    expect(new Set(keys).size).toBe(keys.length)
  })

  test('a request behind a summary keeps its key in a later turn, and no other prompt has that key', async () => {
    let isBusy = true
    const model = recordedModel('test/m', (request) => {
      if (isHandoff(request)) return say('Files 1 to 3 hold nothing.')
      if (request.messages.length > 8) throw new TerminalError('prompt is too long', { code: 'context_overflow' })
      const hasSummary = textOf(request).includes('hold nothing')
      if (hasSummary && isBusy) {
        isBusy = false
        throw new TransientError('busy', { code: 'model_overloaded', retryAfterMs: 1 })
      }
      return hasSummary ? say('Nothing was found.') : call('read')
    })
    const agent = defineWorker({
      instructions: 'x',
      model,
      tools: [tool('read', () => 'a line')],
      compaction: { keep: 2 },
    })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    expect(await troupe.run('agent', 'Find the key.')).toMatchObject({ status: 'completed' })
    const requests = model.requests.filter((request) => !isHandoff(request))
    const prompts = Map.groupBy(requests, ({ idempotencyKey }) => idempotencyKey)
    expect([...prompts.values()].map((same) => new Set(same.map(textOf)).size)).toEqual([...prompts].map(() => 1))
    expect(requests.at(-1)?.idempotencyKey).toBe(requests.at(-2)?.idempotencyKey)
  })

  test('a prompt that is too long fails its run if its kind does not compact', async () => {
    const { troupe, result, requests } = await read(8, false)
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'context_overflow' } })
    expect(requests.filter(isHandoff)).toEqual([])
  })

  test('a prompt that is too long because of its instructions says nothing of the window for other conversations of its kind', async () => {
    const model = recordedModel('test/m', ({ instructions }) =>
      instructions.length > 10_000 ? new TerminalError('prompt is too long', { code: 'context_overflow' }) : say('ok'),
    )
    const instructions = (_self: unknown, input: unknown) => (input === 'long' ? 'x'.repeat(40_000) : 'x')
    const agent = defineWorker({ instructions, model, compaction: { keep: 2 } })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const long = await troupe.create('agent', 'long')
    expect(await long.result()).toMatchObject({ failure: { code: 'context_overflow' } })
    const session = await troupe.create('agent', 'question 1', { keepOpen: true })
    for (let run = 1; run <= 5; run++) {
      if (run > 1) await session.root.send(`question ${run}`)
      expect(await session.result({ run })).toMatchObject({ status: 'completed' })
    }
    expect(model.requests.filter(isHandoff)).toEqual([])
  })

  test('a prompt that is too long is not compacted with a model call that the session may not make', async () => {
    const { troupe, result, requests } = await read(8, { keep: 2 }, { modelCalls: 5 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'budget_exceeded' } })
    expect(requests).toHaveLength(5)
  })

  test('a prompt that is too long is compacted by another node if its node drains', async () => {
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let replies = 0
    const model = recordedModel('test/m', async (request) => {
      if (isHandoff(request)) return say('They read.')
      if (textOf(request).includes('They read.')) return say('Done.')
      if (++replies < 4) return call('read')
      asked.resolve()
      await gate.promise
      return new TerminalError('prompt is too long', { code: 'context_overflow' })
    })
    const agent = defineWorker({ instructions: 'x', model, tools: [tool('read', () => 'a')], compaction: { keep: 2 } })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await asked.promise
    const stopping = troupe.nodes[0]?.stop()
    gate.resolve()
    await stopping
    await troupe.startNode({ agent })
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    // Both nodes were refused.
    expect((await session.report()).session.usage).toMatchObject({ modelCalls: 5, failedModelCalls: 2 })
  })

  test('a prompt that is too long fails its run if nothing is left to compact, after a bounded number of requests [1.53]', async () => {
    const { troupe, result, requests } = await read(0, { keep: 2 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'context_overflow' } })
    expect(requests).toHaveLength(1)
  })
})

test('a run that waits keeps the summary that is being written, and pays for it once (COMPACT-1)', async () => {
  const written = Promise.withResolvers<void>()
  let replies = 0
  const model = recordedModel('test/m', async (request) => {
    if (!isHandoff(request)) {
      const name = ++replies === 4 ? 'spawn_workers' : 'read'
      const input = name === 'read' ? {} : { tasks: [{ kind: 'child', input: 'go' }] }
      return replies === 6 ? say('Done.') : counted(call(name, input), replies === 3 || replies === 4 ? 900 : 100)
    }
    await written.promise
    return counted(say('They read.'), 50)
  })
  const child = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.after(5, null)
      else self.reply('here')
      written.resolve()
    },
  })
  const tools = [tool('read', () => 'a line')]
  const agent = defineWorker({ instructions: 'x', model, tools, spawns: ['child'], compaction: small })
  const policy = { turnSliceSteps: 1 }
  await using troupe = await TestTroupe.start({ workers: { agent, child }, policy })
  const session = await troupe.create('agent', 'go')
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect(model.requests.filter(isHandoff)).toHaveLength(1)
  const types = (await troupe.history(session.rootId)).map(({ type }) => type)
  expect(types.filter((type) => type === 'compacted')).toHaveLength(1)
  expect((await session.root.report()).usage).toMatchObject({ modelCalls: 7 })
  expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
})

test('the end of a job, and of a child, breaks off the summary that is being written, and counts its request', async () => {
  const model = recordedModel('test/m', (request) => {
    if (isHandoff(request)) return new Promise<ScriptedReply>(() => {})
    const reads = Number.parseInt(request.idempotencyKey.split('/')[2] ?? '0', 10)
    return reads < 4 ? counted(call('read'), reads === 3 ? 900 : 100) : say('Done.')
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool('read', () => 'a line')], compaction: small })
  const parent = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.spawn('agent', 'go')
      else self.reply('here')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { agent, parent } })
  for (const kind of ['agent', 'parent']) {
    const session = await troupe.create(kind, 'go', { keepOpen: kind === 'parent' })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
    await awaitIdle(session)
    expect((await session.report()).session.usage).toMatchObject({ modelCalls: 4, failedModelCalls: 1 })
  }
  expect(model.requests.filter(isHandoff)).toHaveLength(2)
})

test('a cancelled run counts the summary that was being written', async () => {
  const begun = Promise.withResolvers<void>()
  const model = recordedModel('test/m', (request, number) => {
    if (number <= 3) return counted(call('read'), number === 3 ? 900 : 100)
    if (!isHandoff(request)) begun.resolve()
    return new Promise<ScriptedReply>(() => {})
  })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool('read', () => 'a line')], compaction: small })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'go')
  await begun.promise
  await session.cancel()
  expect(await awaitResult(session)).toMatchObject({ status: 'cancelled' })
  expect((await session.root.report()).usage).toMatchObject({ modelCalls: 3, failedModelCalls: 2 })
})

test('each request for a summary counts, and none is made beyond the limit of the session', async () => {
  const tooLong = new TerminalError('prompt is too long', { code: 'context_overflow' })
  const counts = [100, 200, 860]
  const enough = [tooLong, tooLong]
  const paid = await talk(3, counts, () => enough.pop() ?? say('They counted.'))
  await using _ = paid.troupe
  await awaitIdle(paid.session)
  expect((await paid.session.root.report()).usage).toMatchObject({ modelCalls: 4, failedModelCalls: 2 })
  const { troupe, session, handoffs } = await talk(3, counts, () => tooLong, small, { modelCalls: 5 })
  await using _troupe = troupe
  await awaitIdle(session)
  expect([handoffs().length, (await session.root.report()).usage]).toMatchObject([2, { failedModelCalls: 2 }])
})

test.each([{ modelCalls: 4 }, { tokens: 2_000 }])(
  'no summary begins that leaves the next run nothing of %j',
  async (limits) => {
    const { troupe, session, handoffs } = await talk(4, [100, 200, 860, 150], () => say('They counted.'), small, limits)
    await using _ = troupe
    expect([handoffs().length, (await session.root.report()).usage]).toMatchObject([0, { modelCalls: 4 }])
  },
)

test.each([
  [{ at: 2 }, /compaction\.at must be a number from 0\.1 to 0\.95, not 2/],
  [{ window: 10 }, /compaction\.window must be a whole number of tokens from 1000/],
  [{ keep: 0 }, /compaction\.keep must be a whole number from 1 to 1000, not 0/],
  [{ instructions: 'x' }, /compaction does not know "instructions".* Did you mean instruction/],
  [{ clearResults: 1 }, /compaction\.clearResults must be true or false, not 1/],
  [true, /compaction must be false or an object, not true/],
])('the compaction %j is refused by its name', (compaction, message) => {
  expect(() => defineWorker({ instructions: 'x', compaction: compaction as never })).toThrow(ConfigError)
  expect(() => defineWorker({ instructions: 'x', compaction: compaction as never })).toThrow(message)
})

/** A conversation whose runs read long files, with the sizes that its provider counts of each prompt. */
async function reading(tokens: readonly number[], settings: CompactionSettings) {
  let asked = 0
  const model = recordedModel('test/m', (request) => {
    if (isHandoff(request)) return say('They read.')
    const reply = request.messages.at(-1)?.role === 'tool' ? say('read') : call('read')
    return counted(reply, tokens[asked++] ?? 100)
  })
  const text = 'a long line of a file. '.repeat(100)
  const agent = defineWorker({ instructions: 'x', model, tools: [tool('read', () => text)], compaction: settings })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'read 1', { keepOpen: true })
  const read = async (run: number) => {
    if (run > 1) await session.root.send(`read ${run}`)
    expect(await awaitResult(session, { run })).toMatchObject({ status: 'completed' })
    return textOf(model.requests.filter((request) => !isHandoff(request)).at(-1))
  }
  return { troupe, session, read, text, requests: model.requests }
}

/** The scripted model numbers its calls over all conversations of the process. */
function renumbered(text: string): string {
  const ids: string[] = []
  return text.replace(/scripted-\d+/g, (id) => {
    if (!ids.includes(id)) ids.push(id)
    return `call ${ids.indexOf(id)}`
  })
}

describe('a conversation with long results of tools', () => {
  const counts = [100, 100, 100, 100, 8_600, 100, 100, 100, 100]

  test('a conversation with long results of tools has the old ones cleared before anything is summarised, and they come back byte by byte', async () => {
    const settings = { window: 10_000, keep: 3 }
    const one = await reading(counts, settings)
    await using _ = one.troupe
    for (const run of [1, 2, 3]) await one.read(run)
    const cleared = await one.read(4)
    expect(one.requests.filter(isHandoff)).toEqual([])
    expect(cleared).toMatch(/this result of read was cleared to make room: it had 2300 bytes\. The tool did run/)
    expect(cleared).toContain('read 1')
    expect(cleared.split('a long line of a file. a long').length).toBeLessThan(200)
    const types = (await one.troupe.history(one.session.rootId)).map(({ type }) => type)
    expect(types.filter((type) => type === 'cleared' || type === 'compacted')).toEqual(['cleared'])
    // The prefix stays as it is until something else is cleared or summarised.
    const next = await one.read(5)
    expect(next.startsWith(cleared.slice(0, -1))).toBe(true)
    await awaitIdle(one.session)
    await one.session.root.expand()
    const other = await reading([], { ...settings, clearResults: false })
    await using _other = other.troupe
    for (const run of [1, 2, 3, 4, 5]) await other.read(run)
    expect(renumbered(await one.read(6))).toBe(renumbered(await other.read(6)))
    expect((await one.troupe.client.audit({ sessionId: one.session.id })).findings).toEqual([])
  })

  test('a conversation with long results of tools is summarised at once if its kind says so', async () => {
    const one = await reading(counts, { window: 10_000, keep: 3, clearResults: false })
    await using _ = one.troupe
    for (const run of [1, 2, 3, 4]) await one.read(run)
    expect(one.requests.filter(isHandoff)).toHaveLength(1)
  })
})
