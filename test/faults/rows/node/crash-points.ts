/** F03, F05: a process dies at each named moment. What it had begun ends right, by another process, and once. */
import assert from 'node:assert/strict'
import type { Session } from '../../../../src/client/session/session.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { type CrashPoint, crashPoints } from '../../../support/fault/harm/crash-points.ts'
import type { Harness, NodeProcess } from '../../../support/fault/harness.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { agentCrash } from '../../agent-crash.ts'
import { type Row, type Stage, type Trial, trial } from '../../row.ts'

const tree: TreeInput = { children: 3, steps: 2, stepMs: 60 }
const chain = { left: 6, ms: 10 }
// What is counted are deaths: no lease may end because a machine is busy.
const doomedLeases = { leaseMs: 4_000, renewEveryMs: 300, leaseMarginMs: 300 }
export const heirLeases = { leaseMs: 60_000, renewEveryMs: 300, leaseMarginMs: 1_000 }
const askProgram = new URL('../../../programs/ask-client.ts', import.meta.url)
const clientProgram = new URL('../../../programs/fault-client.ts', import.meta.url)

/** Deaths of agents in the model's call and in tools, which the fake provider and the tools bring about themselves. */
const agentMoments = [
  ['K7', 'root/0/asked', 'a model is asked'],
  ['K7', 'root/3/half', 'half of a reply has come'],
  ['K10', 'root/stamp/before', 'a once tool is about to take effect'],
  ['K10', 'root/mail/after', 'a once tool with reconcile has taken effect'],
  ['K10', 'root/put/after', 'an idempotent tool has taken effect'],
] as const

export const crashPointRow: Row = {
  id: 'F03',
  promise: 'a process that dies at a named moment (K1 to K12, K22, K23) loses, doubles and tears nothing',
  done: 'each crash point, for handlers and agents; another process goes on',
  atOnce: 4,
  trials: ({ isLong }) =>
    [...crashPoints.map(crashTrial), ...agentMoments.map(agentTrial)].flatMap((one) =>
      Array.from({ length: isLong ? 5 : 1 }, () => one),
    ),
}

export const lostWakeupRow: Row = {
  id: 'F05',
  promise: 'what is stored and whose wake-up nobody sent is run all the same',
  done: 'killed between script and wake-up, as client and as node',
  atOnce: 4,
  trials: ({ isLong }) =>
    crashPoints
      .filter(({ name }) =>
        ['create-sessions.answered', 'post.answered', 'commit.end', 'wake', 'fire.answered'].includes(name),
      )
      .flatMap((point) => Array.from({ length: isLong ? 5 : 1 }, () => crashTrial(point))),
}

function crashTrial(point: CrashPoint): Trial {
  return {
    name: `${point.line} ${point.name}: ${point.when}`,
    async run(stage) {
      if (point.name.startsWith('reply.')) await agentCrash(stage, { crashAt: `${point.name}:${nthOf(point, stage)}` })
      else if (point.name.startsWith('answer.')) await answerCrash(point, stage)
      else await (point.host === 'client' ? clientCrash(point, stage) : nodeCrash(point, stage))
      return undefined
    },
  }
}

function agentTrial([line, plan, when]: (typeof agentMoments)[number]): Trial {
  return trial(`${line} ${plan}: ${when}`, (stage) => agentCrash(stage, { plan }))
}

function nthOf({ nthMax }: CrashPoint, { random }: Stage): number {
  return 1 + Math.floor(random() * nthMax)
}

async function clientCrash(point: CrashPoint, stage: Stage): Promise<void> {
  await using harness = await stage.open()
  await harness.start('a')
  const nth = nthOf(point, stage)
  const client = await harness.start('client', { program: clientProgram, crashAt: `${point.name}:${Math.min(nth, 3)}` })
  assert.equal(await client.gone, 'SIGKILL', `the client did not pass ${point.name}; it logged: ${client.output}`)
  for (let number = 1; number <= 3; number++) {
    const key = { idempotencyKey: `session ${number}` }
    const session = await harness.client.sessions.create({ kind: 'tally', input: 1, keepOpen: true, ...key })
    for (let message = 2; message <= 4; message++)
      await session.root.send(message, { idempotencyKey: `message ${message}` })
    const result = await awaitResult(session, { run: 4 })
    assert.partialDeepStrictEqual(result, { status: 'completed', value: { count: 4, sum: 10 } })
  }
  const { workers, sessions } = await expectInvariants(harness.redis, harness.namespace)
  assert.deepEqual([workers.size, sessions.size], [3, 3], 'a session was made twice')
  for (const { history } of workers.values()) {
    const inputs = history.flatMap((entry) => (entry.type === 'received' ? [entry.message.value] : []))
    assert.deepEqual(inputs, [1, 2, 3, 4])
  }
}

/** Another client repeats each call without an answer under the same keys. */
async function answerCrash(point: CrashPoint, stage: Stage): Promise<void> {
  await using harness = await stage.open()
  await harness.start('a')
  const crashAt = `${point.name}:${nthOf(point, stage)}`
  const client = await harness.start('client', { program: askProgram, crashAt })
  assert.equal(await client.gone, 'SIGKILL', `the client did not pass ${point.name}; it logged: ${client.output}`)
  for (let number = 1; number <= 3; number++) {
    const session = await harness.client.sessions.create({
      kind: 'asker',
      input: null,
      idempotencyKey: `session ${number}`,
    })
    const ask = await waitUntil('it has asked', async () => (await session.asks({ state: 'any' }))[0])
    await harness.client.asks.answer(ask.id, number, { by: 'a client', idempotencyKey: `answer ${number}` })
    const result = await awaitResult(session)
    assert.partialDeepStrictEqual(result, { status: 'completed', value: number })
  }
  const { workers } = await expectInvariants(harness.redis, harness.namespace)
  for (const { history } of workers.values()) {
    const answers = history.filter((entry) => entry.type === 'received' && entry.message.kind === 'answer')
    assert.equal(answers.length, 1, 'an answer was received twice')
  }
  assert.deepEqual((await harness.client.audit()).findings, [])
}

/** A node that dies at this moment. It may do so before it says that it is ready: then it is null. */
export function startDoomed(harness: Harness, point: CrashPoint, stage: Stage): Promise<NodeProcess | null> {
  const crashAt = `${point.name}:${nthOf(point, stage)}`
  return harness.start('doomed', { crashAt, policy: doomedLeases }).catch((error: Error) => {
    if (!error.message.includes('ended with SIGKILL')) throw error
    return null
  })
}

async function nodeCrash(point: CrashPoint, stage: Stage): Promise<void> {
  await using harness = await stage.open()
  const doomed = await startDoomed(harness, point, stage)
  const work = await submit(harness)
  if (doomed) await untilDead(point, doomed, harness)
  await harness.start('heir', { policy: heirLeases })
  const signal = AbortSignal.timeout(120_000)
  for (const { done } of work) await done
  for (const { session, expected } of work)
    assert.partialDeepStrictEqual(
      await session.result({ signal, run: expected.run }),
      expected,
      `${point.name}, session ${session.id}`,
    )
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 0, 'a message became a dead letter')
  assert.deepEqual(await harness.client.asks.list(), [], 'an ask is open, and its run is over')
  for (const { id, record } of workers.values())
    assert.ok(Number(record.crashes ?? 0) <= 1, `worker ${id} counts ${record.crashes} crashes of one`)
  oncePerDeath(harness)
}

/** Handlers may be called again after a death, and not more often than that. */
function oncePerDeath(harness: Harness): void {
  const begun = harness.ledger.lines().filter(({ what }) => what === 'root' || what === 'leaf' || what === 'link')
  for (const [key, lines] of Map.groupBy(
    begun,
    ({ what, worker, note }) => `${what} ${worker} ${JSON.stringify(note)}`,
  ))
    assert.ok(lines.length <= 2, `${key} ran ${lines.length} times`)
}

interface Work {
  readonly session: Session
  readonly expected: { readonly status: string; readonly run: number; readonly value?: unknown }
  /** What is done with the ask that it opens, by the node that dies or by its heir. */
  readonly done?: Promise<unknown>
}

async function askAnd({ session, expected }: Work, act: (ask: string) => Promise<unknown>): Promise<Work> {
  const done = waitUntil('it has asked', async () => (await session.asks())[0]).then(({ id }) => act(id))
  done.catch(() => {})
  return { session, expected, done }
}

async function submit(harness: Harness): Promise<Work[]> {
  const create = async (kind: string, input: unknown, expected: Work['expected']): Promise<Work> => ({
    session: await harness.client.sessions.create({ kind, input }),
    expected,
  })
  const completed = (value: unknown) => ({ status: 'completed', run: 1, value })
  const cancelled = await create('tree', { ...tree, stepMs: 20_000 }, { status: 'cancelled', run: 1 })
  const work = await Promise.all([
    create('tree', tree, completed(treeResult(tree))),
    create('tree', tree, completed(treeResult(tree))),
    create('chain', chain, { status: 'completed', run: 1 }),
    create('slow', { ms: 400 }, completed({ ms: 400 })),
    converse(harness),
    create('asker', { ms: 60 }, completed('nobody')),
    create('asker', { ms: 600_000 }, completed('here')).then((one) =>
      askAnd(one, (ask) => harness.client.asks.answer(ask, 'here')),
    ),
    create('asker', {}, { status: 'cancelled', run: 1 }).then((one) => askAnd(one, () => one.session.cancel('enough'))),
  ])
  await cancelled.session.cancel('enough')
  return [...work, cancelled]
}

/** Messages that wait together are received in one turn, with a step for each. */
async function converse(harness: Harness): Promise<Work> {
  const session = await harness.client.sessions.create({ kind: 'tally', input: 1, keepOpen: true })
  await Promise.all(Array.from({ length: 19 }, () => session.root.send(1)))
  return { session, expected: { status: 'completed', run: 20, value: { count: 20, sum: 20 } } }
}

export async function untilDead(point: CrashPoint, node: NodeProcess, harness: Harness): Promise<void> {
  if (point.name === 'drain') {
    await waitUntil('something runs', () => harness.ledger.lines().length > 2)
    node.signal('SIGTERM')
  }
  const patience = new Promise((resolve) => setTimeout(resolve, 120_000, 'nothing').unref())
  assert.equal(await Promise.race([node.gone, patience]), 'SIGKILL', `the node did not pass ${point.name}`)
}
