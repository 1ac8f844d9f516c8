/** What `troupe run` asks the person at its terminal (HERE-1 to HERE-3). */
import { expect, test } from 'vitest'
import { AskHere, type AskHereOptions } from '../../../src/cli/commands/ask/ask-here.ts'
import type { Approval } from '../../../src/client/person/approvals.ts'
import type { Ask } from '../../../src/client/person/asks.ts'
import { ConflictError, TransientError } from '../../../src/core/errors.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const id = '0199f3a2-5c1e-8b04-9d68-3e0f7a21c000'
const ask = {
  id,
  workerId: 'w',
  askedAt: 1,
  schema: null,
  kind: 'approval',
  question: 'May pay run?',
  options: null,
  workerKind: 'clerk',
  workerName: 'clerk',
}
const approval = {
  ...ask,
  tool: 'pay',
  arguments: { to: 'a\u001b[2Jb' },
  why: 'it is dear',
  again: null,
  eachTime: false,
  schema: null,
}

/** A terminal at which somebody types these lines, one at each prompt. */
function scene(
  typed: readonly string[],
  {
    kind = 'approval',
    schema = null as object | null,
    isJson = false,
    refuse = false,
    firstLook = undefined as Promise<Ask[]> | undefined,
    isAway = false,
  } = {},
) {
  const said: string[] = []
  const did: unknown[] = []
  let state = 'open'
  let looks = 0
  const lines = [...typed]
  const act = (what: unknown) => {
    did.push(what)
    state = 'answered'
    return refuse ? Promise.reject(new ConflictError('ask_answered', 'answered by bob')) : Promise.resolve({})
  }
  const next = (signal: AbortSignal) => {
    const text = lines.shift()
    if (text !== undefined) return Promise.resolve({ kind: 'line', text } as const)
    return new Promise<{ kind: 'interrupt' }>((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'interrupt' }))
    })
  }
  const options = {
    isJson,
    troupe: {
      approvals: {
        get: () => {
          if (!isAway) return Promise.resolve(approval as unknown as Approval)
          isAway = false
          return Promise.reject(new TransientError('Redis is away'))
        },
        decide: (_id: string, choice: unknown) => act(choice),
      },
      asks: { answer: (_id: string, value: unknown) => act(value), get: () => Promise.resolve({ state }) },
    },
    session: {
      asks: (query: { readonly kind: string }) => {
        const found = looks++ < 2 ? firstLook : undefined
        return found ?? Promise.resolve(state === 'open' && query.kind === kind ? [{ ...ask, kind, schema }] : [])
      },
    },
    view: {
      tell: (line: string) => void said.push(line),
      end: () => said.push('<end>'),
      resume: () => said.push('<resume>'),
    },
    interrupt: { signal: new AbortController().signal },
    prompt: { isShown: true, next, forgetTyped: () => Promise.resolve(), [Symbol.dispose]: () => {} },
  }
  const here = new AskHere(options as unknown as AskHereOptions)
  const note = (type: string, more: object = {}) =>
    here.note({ type, workerId: 'w', details: { id }, ...more } as unknown as RawEvent)
  return { here, said, did, note, withdraw: () => (state = 'withdrawn') }
}

test.each([
  ['y', { decision: 'approve' }],
  ['YES', { decision: 'approve' }],
  ['t', { decision: 'approve', trust: 'tool' }],
  ['n', { decision: 'deny', reason: undefined }],
  ['n too dear', { decision: 'deny', reason: 'too dear' }],
  ['not now', { decision: 'deny', reason: 'not now' }],
])('%j decides %j [1.31]', async (typed, decision) => {
  const { here, said, did, note } = scene(['?', typed])
  using _ = here
  note('ask.opened')
  await waitUntil('it is decided, and the view goes on', () => said.includes('<resume>'))
  expect(did).toEqual([decision])
  expect(said.indexOf('<end>')).toBeLessThan(said.findIndex((line) => line.includes('wants to call pay')))
  const text = said.join('\n')
  expect(text).toContain('you are asked because it is dear')
  expect(text).toContain('the call runs')
  expect(text).not.toContain('\u001b')
})

test('a question is answered with what the person types', async () => {
  const { here, said, did, note } = scene(['{"ok":true}'], { kind: 'question' })
  using _ = here
  note('ask.opened')
  await waitUntil('it is answered', () => said.includes('<resume>'))
  expect(did).toEqual([{ ok: true }])
})

test.each([
  ['5', { type: 'number' }, 5],
  ['true', { type: 'boolean' }, true],
  ['5', { type: 'string' }, '5'],
  ['five', { type: 'number' }, 'five'],
])('%j for the schema %j is the answer %j', async (typed, schema, value) => {
  const { here, said, did, note } = scene([typed], { kind: 'question', schema })
  using _ = here
  note('ask.opened')
  await waitUntil('it is answered', () => said.includes('<resume>'))
  expect(did).toEqual([value])
})

test('an answer that came too late is reported, and the person is not asked again', async () => {
  const { here, said, did, note } = scene(['y', 'y'], { refuse: true })
  using _ = here
  note('ask.opened')
  await waitUntil('the view goes on', () => said.includes('<resume>'))
  expect(did).toHaveLength(1)
  expect(said.join('\n')).toContain('troupe: answered by bob')
})

test('an ask that comes while the open ones are being read is shown, even if none was open then', async () => {
  const { promise: firstLook, resolve } = Promise.withResolvers<Ask[]>()
  const { here, said, did, note } = scene(['y'], { firstLook })
  using _ = here
  // The ask of this event is over when it is looked for; the next one is opened meanwhile.
  note('ask.opened')
  note('ask.opened')
  resolve([])
  await waitUntil('it is decided', () => said.includes('<resume>'))
  expect(did).toEqual([{ decision: 'approve' }])
})

test('an ask that cannot be read while Redis is away is shown once Redis is back (HERE-4)', async () => {
  const { here, said, did, note } = scene(['y'], { isAway: true })
  using _ = here
  note('ask.opened')
  await waitUntil('it is decided', () => did.length === 1)
  expect(said.filter((line) => line.includes('Redis is away'))).toHaveLength(1)
})

test('a prompt ends when somebody else answers (HERE-2)', async () => {
  const { here, said, did, note } = scene([])
  using _ = here
  note('ask.opened')
  await waitUntil('the person is asked', () => said.some((line) => line.includes('wants to call')))
  note('ask.answered')
  await waitUntil('it says so', () => said.join('\n').includes('was answered elsewhere'))
  expect(did).toEqual([])
})

test('a prompt ends when its ask is withdrawn, as by an interrupt, which no event names (HERE-2)', async () => {
  const { here, said, did, note, withdraw } = scene([])
  using _ = here
  note('ask.opened')
  await waitUntil('the person is asked', () => said.some((line) => line.includes('wants to call')))
  note('message.accepted')
  await new Promise((resolve) => setImmediate(resolve))
  expect(said).not.toContain('<resume>')
  withdraw()
  note('text.delta', { transient: true })
  await new Promise((resolve) => setImmediate(resolve))
  expect(said).not.toContain('<resume>')
  note('message.consumed')
  await waitUntil('it says so', () => said.join('\n').includes('or is over'))
  expect(did).toEqual([])
})

test('nobody is asked if a program reads the output, nor about a signal of another system [1.30]', async () => {
  const json = scene(['y'], { isJson: true })
  const signal = scene(['y'], { kind: 'signal' })
  using _json = json.here
  using _signal = signal.here
  json.note('ask.opened')
  signal.note('ask.opened')
  await new Promise((resolve) => setImmediate(resolve))
  expect([...json.said, ...json.did, ...signal.said, ...signal.did]).toEqual([])
})
