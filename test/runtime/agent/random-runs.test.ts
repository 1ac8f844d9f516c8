/**
 * Random runs of agents: random replies and tools, and commits after which a turn is lost, as if its node had died before or
 * after Redis accepted them. The input tells an agent what to do, so that a node that takes over knows it too.
 */
import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../src/core/definition/model.ts'
import { defineTool, type Effect } from '../../../src/core/definition/tool/define-tool.ts'
import { ConflictError, TransientError } from '../../../src/core/errors.ts'
import { textOf, toolCallsOf } from '../../../src/core/history/chat/chat-message.ts'
import { ContextContainer } from '../../../src/core/history/context-container.ts'
import type { Entry } from '../../../src/core/history/entry.ts'
import type { TurnStore } from '../../../src/core/ports/ports.ts'
import { call, say, scriptedModel, together } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

type Deed = 'give' | 'throw' | 'hang' | 'wait'
type Said = {
  readonly id: string
  readonly to: Effect | 'spawn_workers' | 'ask_person' | 'nothing'
  readonly deed: Deed
}
type Reply = readonly Said[] | 'blank' | 'busy'
type Loss = 'none' | 'before' | 'after'

const said = fc.record<Said>({
  id: fc.constantFrom('', 'a', 'b', 'call-1-2-1'),
  to: fc.constantFrom('pure', 'idempotent', 'once', 'spawn_workers', 'ask_person', 'nothing'),
  deed: fc.constantFrom('give', 'give', 'throw', 'hang', 'wait'),
})
const several = fc.array(said, { minLength: 1, maxLength: 3 })
const reply: fc.Arbitrary<Reply> = fc.oneof({ weight: 4, arbitrary: several }, fc.constantFrom('blank', 'busy'))
const plans = fc.array(fc.array(reply, { maxLength: 3 }), { minLength: 20, maxLength: 20 })
const loss = fc.constantFrom<Loss>('none', 'none', 'none', 'none', 'none', 'none', 'before', 'after')
const losses = fc.array(loss, { minLength: 100, maxLength: 100 })

const quick = { modelBackoffMs: 2, retryBackoffMs: 2, retryBackoffMsMax: 4 }
const shortest = { leaseMs: 300, renewEveryMs: 80, leaseMarginMs: 60, sweepEveryMs: 50, wakeupMs: 200 }
const patient = { suspectAfterStarts: 50, poisonAfterIsolatedStarts: 50, sameErrors: 50 }

/** How often each `once` call ran, and how often each reply was asked for, by its key. */
const runs = new Map<string, number>()
const asks = new Map<string, number>()

function count(counts: Map<string, number>, key: string): number {
  const times = (counts.get(key) ?? 0) + 1
  counts.set(key, times)
  return times
}

const tools = (['pure', 'idempotent', 'once'] as const).map((effect) =>
  defineTool<{ deed: Deed }>({
    name: effect,
    description: 'Does as it is told.',
    effect,
    approval: 'never',
    timeoutMs: 20,
    run({ deed }, { attempt, idempotencyKey, setFact }) {
      if (effect === 'once') count(runs, idempotencyKey)
      if (deed === 'hang') return new Promise(() => {})
      if (deed === 'wait' && attempt === 1 && effect !== 'once') throw new TransientError('busy')
      if (deed === 'throw') throw new Error('no')
      setFact('last', idempotencyKey)
      return { given: idempotencyKey }
    },
  }),
)

/** The request for each reply with text, by the number in the text. */
const requests = new Map<number, ModelRequest['messages']>()

const model = scriptedModel('test/random', ({ messages, idempotencyKey }, number) => {
  const [first] = messages
  const plan = JSON.parse(first?.role === 'user' ? textOf(first.content) : '') as Reply[]
  const [, , place = ''] = idempotencyKey.split('/')
  const [step, blanks] = place.split('.')
  const now = plan[Number(step) - 1] ?? []
  requests.set(number, structuredClone(messages))
  if (now === 'blank' && blanks === undefined) return say('')
  if (now === 'busy' && count(asks, idempotencyKey) === 1) return new TransientError('busy')
  const tasks = [
    { kind: 'helper', input: 1 },
    { kind: 'helper', input: 2, detached: true },
  ]
  const asked = (typeof now === 'string' ? [] : now).map(({ id, to, deed }) =>
    call(to, to === 'spawn_workers' ? { tasks } : to === 'ask_person' ? { question: 'What now?' } : { deed }, id),
  )
  return { ...together(say(`${number}`), ...asked), usage: { inputTokens: 3, outputTokens: 2 } }
})

const agent = defineWorker({ instructions: 'x', model, tools, spawns: ['helper'], onUnknown: 'tell', asks: true })
const helper = defineWorker({ receive: (_message, self) => self.reply('helped') })

/** Answers each open ask, whatever happens to it meanwhile. */
async function answerAll({ client }: TestTroupe): Promise<void> {
  const open = await client.asks.list({ limit: 500 })
  const answers = await Promise.allSettled(open.map(({ id }) => client.asks.answer(id, 'go on')))
  for (const answer of answers)
    if (answer.status === 'rejected' && !(answer.reason instanceof ConflictError)) throw answer.reason
}

/** The turn whose commit is lost gets an error of Redis, as if the node had been cut off. */
function losing(turns: TurnStore, lost: readonly Loss[]): TurnStore {
  let number = 0
  return {
    partition: turns.partition,
    claim: (next) => turns.claim(next),
    readHistory: (workerId, from) => turns.readHistory(workerId, from),
    cancelReason: (worker) => turns.cancelReason(worker),
    renew: (renewed) => turns.renew(renewed),
    readInputs: (workerId, positions) => turns.readInputs(workerId, positions),
    enter: (worker, gates) => turns.enter(worker, gates),
    async commit(request) {
      const how = lost[number++]
      if (how === 'before') throw new Error('lost before it came')
      const answer = await turns.commit(request)
      if (how === 'after') throw new Error('its answer was lost')
      return answer
    },
  }
}

/** Checks that each call has one result and started its children once, and that each reply followed from exactly the entries before it. */
function expectWhole(history: readonly Entry[]): void {
  const context = new ContextContainer({ sessionId: '', workerId: '', name: '', kind: '', parentId: null, depth: 0 })
  const prompts: { readonly sent: unknown; readonly recorded: unknown }[] = []
  const calls: string[] = []
  for (const entry of history) {
    if (entry.type === 'assistant') {
      prompts.push({ sent: requests.get(Number(textOf(entry.content))), recorded: context.history.prompt() })
      calls.push(...toolCallsOf(entry).map(({ toolCallId }) => toolCallId))
    }
    context.apply(entry)
  }
  expect(prompts.map(({ sent }) => sent)).toEqual(prompts.map(({ recorded }) => recorded))
  const answered = history.flatMap((entry) => (entry.type === 'toolResult' ? [entry.toolCallId] : []))
  expect(answered.toSorted()).toEqual([...new Set(calls)].toSorted())
  const delegated = history.flatMap((entry) => (entry.type === 'delegated' ? [entry.toolCallId] : []))
  expect(delegated).toEqual([...new Set(delegated)])
}

test('an agent with any replies and tools, and with turns lost anywhere, ends and does nothing twice', async () => {
  await fc.assert(
    fc.asyncProperty(plans, losses, async (given, lost) => {
      await using troupe = await TestTroupe.connect()
      const aroundTurns = (turns: TurnStore) => losing(turns, lost)
      const policy = { ...shortest, ...patient, ...quick }
      await troupe.startNode({ agent, helper }, { aroundTurns, policy, logger: pino({ level: 'silent' }) })
      const sessions = await Promise.all(given.map((plan) => troupe.create('agent', plan)))
      const ended = Promise.all(sessions.map((session) => awaitResult(session)))
      let isOver = false
      void ended.finally(() => {
        isOver = true
      })
      await waitUntil('all have ended', async () => {
        await answerAll(troupe)
        return isOver
      })
      const results = await ended
      expect(results.map(({ status }) => status)).toEqual(given.map(() => 'completed'))
      await expectInvariants(troupe.redis, troupe.namespace)
      for (const { rootId } of sessions) expectWhole(await troupe.history(rootId))
      expect(Math.max(0, ...runs.values())).toBeLessThanOrEqual(1)
    }),
    { numRuns: 2, endOnFailure: true },
  )
})
