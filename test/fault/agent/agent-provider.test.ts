/**
 * What providers, models and tools do wrong, met by an agent over HTTP through the real adapters. Each ends as a recorded outcome of a
 * known sort, and the worker answers its next input.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, type ToolDefinition } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import type { Entry } from '../../../src/core/history/entry.ts'
import { type FakeSurface, fakeSurfaces, type SaidCall } from '../../support/provider/fake-surfaces.ts'
import { type Act, type FaultyRun, type Ran, runFaulty } from '../../support/provider/faulty-agent.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const fine: Act = { text: 'Fine.' }
const completed = { status: 'completed', value: { text: 'Fine.' } }
const failedWith = (code: string) => ({ status: 'failed', failure: { code } })

function status(code: number, headers: Record<string, string> = {}): Act {
  const body = { type: 'error', error: { type: 'some_error', message: `status ${code}` } }
  return (response) =>
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function calling(...calls: readonly (Partial<SaidCall> & { name: string })[]): Act {
  return { calls: calls.map((call, index) => ({ id: `c${index}`, args: '{}', ...call })) }
}

function tool(name: string, run: ToolDefinition['run'], more: Partial<ToolDefinition> = {}) {
  return defineTool({ name, description: 'A tool.', effect: 'idempotent', run, ...more })
}

const echo = tool('echo', (input) => input, { input: z.object({ text: z.string() }) })
const hello = (text = 'hi') => ({ name: 'echo', args: JSON.stringify({ text }) })

function resultsOf(history: readonly Entry[]) {
  return history.flatMap((entry) => (entry.type === 'toolResult' ? [entry] : []))
}

/** What the last request told the model about its calls. */
function told({ preview }: Ran): string[] {
  return preview.at(-1)?.results.map(({ text }) => text) ?? []
}

describe.each(fakeSurfaces)('$model', (surface: FakeSurface) => {
  const run = (acts: FaultyRun['acts'], more: Partial<FaultyRun> = {}) => runFaulty({ surface, acts, ...more })

  describe('a provider', () => {
    test('a busy provider is asked again after the time it named; the worker waits without a slot', async () => {
      const { result, history, preview } = await run([status(429, { 'retry-after': '1' }), fine], {
        meanwhile: async (session) => {
          await waitUntil('the worker waits', async () => {
            const [root] = (await session.report()).workers
            return root?.state === 'waiting' && root.run === 'TransientFailure'
          })
        },
      })
      expect(result).toMatchObject(completed)
      expect(preview).toHaveLength(2)
      const [failed] = history.filter((entry) => entry.type === 'attemptFailed')
      expect(failed).toMatchObject({ failure: { code: 'model_overloaded', origin: 'model' } })
      expect(failed?.type === 'attemptFailed' && failed.retryMs).toBeGreaterThanOrEqual(1_000)
    })

    test('a provider that stays broken fails the run when the retries are used up', async () => {
      const { result, preview } = await run([status(500)], { worker: { retries: 2 } })
      expect(result).toMatchObject(failedWith('model_unavailable'))
      expect(preview).toHaveLength(3)
    })

    test('a provider that refuses the key fails the run at once', async () => {
      const { result, preview } = await run([status(401)])
      expect(result).toMatchObject(failedWith('model_refused'))
      expect(preview).toHaveLength(1)
    })

    test('a provider that hangs up in the middle of a reply is asked again, and nothing of the half reply is kept', async () => {
      const half: Act = (response, { events }) => {
        const all = events({ text: 'Half of it' })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(all.slice(0, Math.ceil(all.length / 2)).join(''), () => response.destroy())
      }
      const { result, history } = await run([half, half, fine])
      expect(result).toMatchObject(completed)
      expect(history.map(({ type }) => type)).toEqual([
        'user',
        'attemptFailed',
        'attemptFailed',
        'assistant',
        'completed',
      ])
    })

    test('a provider that speaks garbage is asked again, then the run fails', async () => {
      const garbage: Act = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('\0<p>{"')
      expect((await run([garbage, fine])).result).toMatchObject(completed)
      const { result, preview } = await run([garbage], { worker: { retries: 1 } })
      expect(result).toMatchObject(failedWith('model_garbled'))
      expect(preview).toHaveLength(2)
    })

    test.each([2, 10])(
      'a provider whose reply has %i MB, more than can be recorded, fails the run',
      async (megabytes) => {
        const { result, history } = await run([{ text: 'x'.repeat(megabytes * 1_048_576) }], { worker: { retries: 1 } })
        expect(result).toMatchObject(failedWith('model_garbled'))
        expect(JSON.stringify(history).length).toBeLessThan(100_000)
      },
    )

    test('a reply whose text holds half characters and NULs reaches the agent', async () => {
      const { result } = await run([{ text: 'a\ud83db\0c\ud83d\ude00\udc00' }])
      expect(result).toMatchObject({ status: 'completed', value: { text: 'a\ufffdb\0c\ud83d\ude00\ufffd' } })
    })
  })

  describe('a reply', () => {
    test.each(['error', 'abort', 'cancelled', 'overloaded'])(
      'a reply that ended by %j is a failed call; no tool of it runs',
      async (ends) => {
        let ran = 0
        const pay = tool('pay', () => ++ran, { effect: 'once', approval: 'never' })
        const broken: Act = { text: 'Half of it', calls: [{ id: 'c0', name: 'pay', args: '{}' }], ends }
        const { result, history, preview } = await run([broken, fine], { worker: { tools: [pay] } })
        expect(result).toMatchObject(completed)
        expect([ran, preview.length]).toEqual([0, 2])
        expect(history.map(({ type }) => type)).toEqual(['user', 'attemptFailed', 'assistant', 'completed'])
      },
    )

    test.each([
      ['length', { 'openai-chat/fake': 'length', 'openai/fake': 'max_output_tokens', 'anthropic/fake': 'max_tokens' }],
      [
        'content-filter',
        { 'openai-chat/fake': 'content_filter', 'openai/fake': 'content_filter', 'anthropic/fake': 'refusal' },
      ],
    ])('a reply that was cut by %s says so in the result', async (finishReason, words: Record<string, string>) => {
      const ends = words[surface.model] as string
      const { result } = await run([{ text: 'Half of', ends }], { worker: { continues: 0 } })
      expect(result).toMatchObject({ status: 'completed', value: { text: 'Half of', finishReason } })
      if (finishReason !== 'length') return
      const both = await run([{ text: 'Half of ', ends }, { text: 'it.' }])
      expect(both.result).toMatchObject({ status: 'completed', value: { text: 'Half of it.' } })
    })
  })

  describe('a model', () => {
    test('a model that says nothing is asked three times', async () => {
      const { result, preview, history } = await run([{ text: '' }, { text: ' \n' }])
      expect(result).toMatchObject(failedWith('model_blank'))
      expect(preview).toHaveLength(3)
      expect(history.filter(({ type }) => type === 'blank')).toHaveLength(3)
    })

    test('a model that calls tools without end is stopped, and the error names the count and the limit', async () => {
      let runs = 0
      const { result, preview } = await run((_, number) => calling({ name: 'count', id: `n${number}` }), {
        worker: { tools: [tool('count', () => ++runs)] },
      })
      expect(result).toMatchObject(failedWith('iterations_exceeded'))
      expect(result.status === 'failed' && result.failure.message).toMatch(/\b10 of 10\b/)
      expect([preview.length, runs]).toEqual([10, 9])
    })

    test('a model learns which arguments were no JSON, did not fit, or named no tool', async () => {
      const bad = [
        { name: 'echo', args: '{"text": "cut' },
        { name: 'echo', args: '{"text": 7}' },
        { name: 'echo', args: '[]' },
        { name: 'ecko', args: '{"text":"x"}' },
        { name: 'spawn_workers', args: '{"tasks":[]}' },
        { name: '__proto__', args: '{}' },
        hello('right'),
      ]
      const ran = await run([calling(...bad), fine], { worker: { tools: [echo] } })
      expect(ran.result).toMatchObject(completed)
      const statuses = resultsOf(ran.history).map(({ toolCallId, status }) => [toolCallId, status])
      expect(new Map(statuses as [string, string][])).toEqual(
        new Map([...bad.keys()].map((index) => [`c${index}`, index === 6 ? 'ok' : 'error'])),
      )
      expect(told(ran)).toHaveLength(bad.length)
      expect(told(ran)[3]).toContain('echo')
    })

    test('a model that uses an id again, in one reply and the next, has each call run and answered', async () => {
      const texts: string[] = []
      const keep = tool('keep', (input) => texts.push((input as { text: string }).text), {
        input: z.object({ text: z.string() }),
      })
      const call = (text: string) => ({ id: 'same', name: 'keep', args: JSON.stringify({ text }) })
      const ran = await run([calling(call('a'), call('b')), calling(call('c')), fine], { worker: { tools: [keep] } })
      expect(ran.result).toMatchObject(completed)
      expect(texts.toSorted((a, b) => a.localeCompare(b))).toEqual(['a', 'b', 'c'])
      const last = ran.preview.at(-1)
      expect(new Set(last?.callIds).size).toBe(3)
      expect(last?.results.map(({ id }) => id)).toEqual(last?.callIds)
    })

    test('a model that calls 200 tools at once has all of them answered, in order', async () => {
      const calls = Array.from({ length: 200 }, (_, index) => hello(`number ${index}`))
      const worker = { tools: [echo], limits: { callsPerReply: 200 } }
      const ran = await run([calling(...calls), fine], { worker })
      expect(ran.result).toMatchObject(completed)
      expect(told(ran)).toEqual(
        calls.map(({ args }) => expect.stringContaining((JSON.parse(args) as { text: string }).text)),
      )
    })

    test('a model that writes arguments of 4 MB ends the run, or learns of the limit', async () => {
      const { result } = await run([calling(hello('x'.repeat(4 * 1_048_576))), fine], {
        worker: { tools: [echo], retries: 1 },
      })
      const outcome = result.status === 'failed' ? result.failure.code : result.status
      expect(outcome).toMatch(/^(completed|model_garbled|message_too_big)$/)
    })
  })

  describe('a tool', () => {
    test('a tool that fails in the same way three times in a row fails the run', async () => {
      const { result, preview } = await run((_, number) => calling({ name: 'bad', id: `n${number}` }), {
        worker: {
          tools: [
            tool('bad', () => {
              throw new Error('always the same')
            }),
          ],
        },
      })
      expect(result).toMatchObject(failedWith('circuit_open'))
      expect(preview).toHaveLength(3)
    })

    test('a tool of effect `once` that says it is too early is tried again, like any other', async () => {
      let tries = 0
      const early = tool(
        'early',
        () => {
          tries++
          if (tries < 3) throw new TransientError('too early', { retryAfterMs: 1 })
          return 'now'
        },
        { effect: 'once', approval: 'never' },
      )
      const ran = await run([calling({ name: 'early' }), fine], { worker: { tools: [early] } })
      expect(ran.result).toMatchObject(completed)
      expect([tries, told(ran)]).toEqual([3, ['now']])
    })

    test('a tool that hangs is abandoned at its time limit, whether it heeds its signal or not', async () => {
      const hangs = tool(
        'hangs',
        (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
        {
          timeoutMs: 50,
        },
      )
      const deaf = tool('deaf', () => new Promise(() => {}), { timeoutMs: 50 })
      const ran = await run([calling({ name: 'hangs' }, { name: 'deaf' }), fine], {
        worker: { tools: [hangs, deaf], retries: 0 },
      })
      expect(ran.result).toMatchObject(completed)
      expect(resultsOf(ran.history).map(({ status }) => status)).toEqual(['error', 'error'])
      for (const text of told(ran)) expect(text).toMatch(/50 ms|time/)
    })

    test('a tool that throws any value ends as an error result for the model', async () => {
      const thrown: unknown[] = [
        new Error('plain'),
        'a text',
        undefined,
        null,
        Object.create(null),
        {
          toString: () => {
            throw new Error('even this')
          },
        },
        new Proxy(
          {},
          {
            get: () => {
              throw new Error('a trap')
            },
          },
        ),
        Object.assign(new Error('x'), { message: 5, code: 'poison', retryable: false }),
      ]
      const tools = thrown.map((value, index) =>
        tool(`t${index}`, () => {
          throw value
        }),
      )
      const ran = await run([calling(...tools.map(({ name }) => ({ name }))), fine], { worker: { tools, retries: 0 } })
      expect(ran.result).toMatchObject(completed)
      expect(resultsOf(ran.history).map(({ status }) => status)).toEqual(thrown.map(() => 'error'))
    })

    test('a tool that returns a value without JSON form, or nothing, still has a result', async () => {
      const circle: Record<string, unknown> = {}
      circle.self = circle
      let deep: unknown = 0
      for (let depth = 0; depth < 100_000; depth++) deep = [deep]
      const values: unknown[] = [
        circle,
        10n,
        undefined,
        () => 1,
        Symbol('s'),
        Number.NaN,
        new Map([[1, 2]]),
        deep,
        'half \ud800 and \0',
        {
          toJSON: () => {
            throw new Error('no')
          },
        },
        JSON.parse('{"__proto__": {"polluted": true}}'),
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('a trap')
            },
          },
        ),
      ]
      const tools = values.map((value, index) => tool(`t${index}`, () => value))
      const ran = await run([calling(...tools.map(({ name }) => ({ name }))), fine], { worker: { tools, retries: 0 } })
      expect(ran.result).toMatchObject(completed)
      expect(told(ran)).toHaveLength(values.length)
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    })

    test('a tool that returns 10 MB, as text or JSON, has them cut, with a note', async () => {
      const text = tool('text', () => 'é'.repeat(5 * 1_048_576))
      const json = tool('json', () => ({ list: Array.from({ length: 1_000_000 }, (_, n) => n) }))
      const ran = await run([calling({ name: 'text' }, { name: 'json' }), fine], { worker: { tools: [text, json] } })
      expect(ran.result).toMatchObject(completed)
      for (const told_ of told(ran)) {
        expect(Buffer.byteLength(told_)).toBeLessThan(110_000)
        expect(told_.slice(-400)).toMatch(/cut|left out|more bytes|bytes/)
      }
    })
  })
})

describe('a child whose answer was cut', () => {
  const [surface] = fakeSurfaces as [FakeSurface]

  test.each(['Half of', '{"summary":"all","details":1}'])(
    'a child whose answer was cut says so to its parent, also if the answer is %j',
    async (text) => {
      const tasks = [{ kind: 'child', input: 'help' }]
      const spawn = calling({ id: 's', name: 'spawn_workers', args: JSON.stringify({ tasks }) })
      const acts: FaultyRun['acts'] = ({ lastUser, results }) => {
        if (lastUser.includes('help')) return { text, ends: 'length' }
        return results.length === 0 ? spawn : fine
      }
      const ran = await runFaulty({
        surface,
        acts,
        worker: { spawns: ['child'] },
        others: { child: { instructions: 'Help.', continues: 0 } },
      })
      expect(ran.result).toMatchObject(completed)
      expect(JSON.parse(told(ran)[0] ?? '')).toMatchObject([{ status: 'completed', finishReason: 'length' }])
    },
  )
})

describe('delegation', () => {
  const [surface] = fakeSurfaces as [FakeSurface]
  const others = { child: { instructions: 'Help.' } }
  const spawning = (args: unknown, id: string) =>
    calling({ id, name: 'spawn_workers', args: typeof args === 'string' ? args : JSON.stringify(args) })

  test.each<[string, unknown]>([
    ['no tasks', { tasks: [] }],
    ['no list', { tasks: 'child' }],
    ['an unknown kind', { tasks: [{ kind: 'nobody', input: 1 }] }],
    ['a kind of another', { tasks: [{ kind: 'agent', input: 1 }] }],
    ['half of a JSON', '{"tasks": [{"kind"'],
    ['200 tasks', { tasks: Array.from({ length: 200 }, () => ({ kind: 'child', input: 1 })) }],
    ['a name of 10 KB', { tasks: [{ kind: 'child', name: 'x'.repeat(10_000), input: 1 }] }],
    ['an input of 700 KB', { tasks: [{ kind: 'child', input: 'x'.repeat(700_000) }] }],
    ['an input that is longer once it is quoted', { tasks: [{ kind: 'child', input: '\0'.repeat(170_000) }] }],
    ['a name with control characters', { tasks: [{ kind: 'child', name: 'a\tb\n\0', input: 1 }] }],
  ])('a delegation of %s is answered, and nothing hangs', async (_what, args) => {
    const acts = ({ callIds, lastUser }: { callIds: readonly string[]; lastUser: string }) =>
      lastUser === 'go' && callIds.length === 0 ? spawning(args, 'one') : fine
    const ran = await runFaulty({ surface, acts, worker: { spawns: ['child'] }, others })
    expect(ran.result).toMatchObject(completed)
    expect(resultsOf(ran.history)).toHaveLength(1)
  })
})
