/** What people do to sessions and workers, and how often they do each of it beside the others. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Ask } from '../../../../src/client/person/asks.ts'
import { chat } from '../../../../src/index.ts'
import { chanceAgents } from '../../../programs/node/chance-tools.ts'
import type { People } from './people.ts'

export type Act = (people: People) => Promise<unknown>

interface KnownAct {
  readonly name: string
  readonly often: number
  readonly act: Act
}

const act = (name: string, often: number, does: Act): KnownAct => ({ name, often, act: does })

export const acts: readonly [KnownAct, ...KnownAct[]] = [
  act('look', 6, (people) => people.look()),
  act('send', 12, send),
  act('cancel run', 3, (people) => people.worker().cancelRun('chance')),
  act('cancel worker', 1, (people) => people.worker().cancel('chance')),
  act('cancel session', 1, (people) => people.session().cancel('chance')),
  act('pause', 3, (people) => people.session().pause('chance')),
  act('resume', 4, (people) => people.session().resume('chance')),
  act('pause all', 0.3, pauseAll),
  act('limit', 2, (people) => people.session().limit({ modelCalls: 1 + people.below(60) })),
  act('retry', 5, retry),
  act('retry outlook', 1, (people) => people.session().retryOutlook()),
  act('copy session', 2, copySession),
  act('branch', 2, branch),
  act('undo', 2, (people) => people.worker().undo()),
  act('redo', 2, (people) => people.worker().redo()),
  act('expand', 1, (people) => people.worker().expand()),
  act('push', 2, (people) => people.worker().push(chat.user('pushed'))),
  act('run', 2, (people) => people.worker().run()),
  act('compact', 2, (people) => unlessPaused(people, 'compact', people.worker().compact())),
  act('configure', 2, (people) => {
    const order = people.worker().configure({ settings: { temperature: people.random() } })
    return unlessPaused(people, 'configure', order)
  }),
  act('close', 2, close),
  act('answer', 8, answerSome),
  act('set approval', 1, (people) => people.session().setApproval(people.one(['auto', 'manual', 'readOnly']))),
  act('read', 5, read),
  act('list', 1, (people) => people.client.sessions.list({ limit: 20 })),
  act('redrive', 1, redrive),
  act('audit', 0.2, audit),
  act('prune', 0.3, (people) => people.client.sessions.prune({ olderThanMs: people.one([0, 20_000, 20_000]) })),
  act('create under a key', 2, createUnderKey),
  act('send under a key', 2, sendUnderKey),
  act('again', 3, again),
  act('create many', 1, createMany),
  act('add endpoint', 0.5, (people) => people.endpoints.add(people)),
  act('change endpoint', 1.5, (people) => people.endpoints.change(people)),
  act('redeliver', 1, (people) => people.endpoints.redeliver(people)),
]

async function send(people: People): Promise<void> {
  const worker = people.worker()
  const { text, value } = people.input(worker.kind)
  await worker.send(value, { when: people.one(['queue', 'queue', 'steer', 'interrupt']) })
  people.said.push({ workerId: worker.id, text })
}

/** The same call twice at once, and again later. */
async function createUnderKey(people: People): Promise<void> {
  const { text, order } = people.order()
  const keyed = { ...order, idempotencyKey: text }
  const both = await Promise.all([people.client.sessions.create(keyed), people.client.sessions.create(keyed)])
  people.begun(both[0], order, text)
  keep(
    people,
    async () => (await people.client.sessions.create(keyed)).id,
    both.map(({ id }) => id),
  )
}

async function sendUnderKey(people: People): Promise<void> {
  const worker = people.worker()
  const { text, value } = people.input(worker.kind)
  const when = people.one(['queue', 'steer', 'interrupt'] as const)
  const sendOnce = async () => String((await worker.send(value, { when, idempotencyKey: text })).position)
  const both = await Promise.all([sendOnce(), sendOnce()])
  people.said.push({ workerId: worker.id, text })
  keep(people, sendOnce, both)
}

function keep(people: People, again: () => Promise<string>, answers: readonly string[]): void {
  const [answer, ...others] = answers as [string, ...string[]]
  if (others.some((other) => other !== answer)) throw new Error(`one key has the answers ${answers.join(', ')}`)
  people.keyed.push({ again, answer })
}

/** A worker or a session that is no more may refuse. */
async function again(people: People): Promise<void> {
  if (people.keyed.length === 0) return
  const keyed = people.one(people.keyed)
  const answer = await keyed.again()
  if (answer !== keyed.answer) throw new Error(`a key whose answer was ${keyed.answer} has the answer ${answer}`)
}

/** One of them has no kind that there can be. */
async function createMany(people: People): Promise<void> {
  const asked = Array.from({ length: 1 + people.below(5) }, () => people.order())
  const wrong = people.below(asked.length + 1)
  const orders = asked.map(({ order }) => order).toSpliced(wrong, 0, { kind: 'no kind', input: 1 })
  const settled = await people.client.sessions.createMany(orders)
  const told = settled.toSpliced(wrong, 1)
  if (settled[wrong]?.status !== 'rejected' || told.length !== asked.length)
    throw new Error(
      `${orders.length} orders have ${settled.length} answers, and order ${wrong} is ${settled[wrong]?.status}`,
    )
  for (const [index, one] of told.entries()) {
    const { order, text } = asked[index] as (typeof asked)[0]
    if (one.status === 'fulfilled') people.begun(one.value, order, text)
    else await people.attempt('create one of many', () => Promise.reject(one.reason as Error))
  }
}

async function pauseAll(people: People): Promise<void> {
  await people.client.pause('chance')
  await pause(people.below(300))
  await people.client.resume()
}

function retry(people: People): Promise<unknown> {
  const session = people.session()
  const unknown = people.one(['again', 'failed', 'done', undefined] as const)
  if (unknown === 'again') people.toRunAgain.add(session.id)
  return session.retry({ unknown, ...(people.chance(0.3) && { limits: { modelCalls: 100 } }) })
}

async function copySession(people: People): Promise<void> {
  const copy = await people.session().fork({ dryRun: people.chance(0.5) })
  people.know(copy, (await copy.summary()).kind)
}

async function branch(people: People): Promise<void> {
  const worker = people.worker()
  const { length } = await worker.history()
  const at = people.chance(0.5) && length > 0 && { at: people.below(length) }
  const input = people.chance(0.5) && { input: 'Go on from here.' }
  people.know(await people.client.sessions.fork(worker, { ...at, ...input }), worker.kind)
}

/** An order waits as long as its session is paused. People do not, but learn what comes of it later. */
async function unlessPaused(people: People, name: string, order: Promise<unknown>): Promise<void> {
  const noted = order.then(
    () => {},
    (error: unknown) => people.noteFailure(name, error),
  )
  await Promise.race([noted, pause(5_000, undefined, { ref: false })])
}

async function close(people: People): Promise<void> {
  const session = people.session()
  await session.close()
  people.closed.add(session.id)
}

async function answerSome(people: People): Promise<void> {
  const asks = await people.client.asks.list({ limit: 20 })
  for (const ask of asks.slice(0, 3 + people.below(5))) await people.attempt('answer', () => answer(people, ask))
}

export function answer(people: People, ask: Ask): Promise<unknown> {
  const { approvals, asks } = people.client
  if (ask.kind !== 'approval') return asks.answer(ask.id, ask.options?.[0] ?? 'yes')
  if (people.chance(0.3)) return approvals.decide(ask.id, { decision: 'deny' })
  const changed = people.chance(0.2) && { arguments: { n: people.below(9) } }
  return approvals.decide(ask.id, { decision: 'approve', trust: people.chance(0.1) ? 'tool' : 'once', ...changed })
}

async function read(people: People): Promise<void> {
  const worker = people.worker()
  const reads = [() => worker.history(), () => worker.state(), () => worker.mailbox(), () => worker.metadata()]
  const ofAgents = [() => worker.context(), () => worker.tokens()]
  await people.one<() => Promise<unknown>>(chanceAgents.includes(worker.kind) ? [...reads, ...ofAgents] : reads)()
}

async function redrive(people: People): Promise<void> {
  for (const { id } of await people.client.deadLetters({ limit: 3 }))
    await people.attempt('redrive one', () => people.client.redrive({ letter: id }))
}

async function audit(people: People): Promise<void> {
  const { findings } = await people.client.audit({ sessionId: people.session().id })
  if (findings.length > 0) throw new Error(`the audit has findings: ${JSON.stringify(findings)}`)
}
