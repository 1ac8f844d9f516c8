/** F52: people steer sessions by chance in every way that there is, while nodes die, stand still and drain, and their network fails. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { connectInternal } from '../../../../src/client/client.ts'
import type { Payment } from '../../../programs/node/chance-tools.ts'
import type { Random } from '../../../support/fault/fault-settings.ts'
import { FleetFollower } from '../../../support/fault/follower/fleet-follower.ts'
import { gateFaults } from '../../../support/fault/gate-verdict.ts'
import { harmNetwork } from '../../../support/fault/harm/harm-network.ts'
import { harmNodes, untilStarted, type Way } from '../../../support/fault/harm/harm-nodes.ts'
import type { Harness, NodeSettings } from '../../../support/fault/harness.ts'
import { appendLine } from '../../../support/fault/ledger.ts'
import { EndpointReceiver } from '../../../support/fault/people/endpoint-receiver.ts'
import { endpointFaults } from '../../../support/fault/people/endpoint-verdict.ts'
import { People, type Said } from '../../../support/fault/people/people.ts'
import { answer } from '../../../support/fault/people/people-acts.ts'
import { PeopleEndpoints } from '../../../support/fault/people/people-endpoints.ts'
import { judgeAwaited, judgeClosed, judgeTold, sessionFaults } from '../../../support/fault/people/people-verdict.ts'
import { together } from '../../../support/fault/together.ts'
import { unlessPruned } from '../../../support/fault/unless-pruned.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Row, Stage } from '../../row.ts'

const [peopleAtOnce, restMsMax] = [8, 300_000]
const names = ['a', 'b', 'c']
const ways: readonly Way[] = ['kill', 'kill', 'freeze', 'drain']
const program = new URL('../../../programs/node/chance-node.ts', import.meta.url)
const wrongClock = new URL('../../../programs/preload/wrong-clock.ts', import.meta.url)
/** Histories are packed soon, and hooks that take long are left behind. */
const policy = { leaseMs: 4_000, hookMs: 500, coldAfterMs: 2_000, coldEveryMs: 1_000, modelBackoffMs: 100 }

export const peopleRow: Row = {
  id: 'F52',
  promise:
    'whatever people do to sessions, and when, nothing is lost, doubled, torn or left behind, and all comes to rest',
  done: '3 nodes killed, frozen and drained at random, and started with other releases, the network cut, Redis killed, the receiver of endpoints away; partitions added; 8 people send, steer, pause, cancel, retry, copy, answer, take back, close, and change endpoints, for --minutes; a trial is an act',
  isEndless: true,
  trials: ({ minutes = 1 }) => [{ name: `${minutes} min`, run: (stage) => peopleStorm(stage, minutes * 60_000) }],
}

async function peopleStorm(stage: Stage, ms: number): Promise<number> {
  const partitions = 1 + Math.floor(3 * stage.random())
  const webhooks = { allowPrivateAddresses: true }
  await using receiver = await EndpointReceiver.start(stage.random)
  await using harness = await stage.open({ ownRedis: {}, client: { partitions, webhooks } })
  const [proxy, proxyOfPeople] = [await harness.proxy(), await harness.proxy()]
  const { namespace } = harness
  await using client = await connectInternal({ redisUrl: proxyOfPeople.url, namespace, deadlineMs: 30_000, webhooks })
  const settings = () => ({ program, proxy, policy, ...clock(stage.random) })
  const start = (name: string) => untilStarted(() => harness.start(name, settings()))
  const startRelease = (name: string) => untilStarted(() => harness.start(name, { ...settings(), isRelease: true }))
  const nodes = await Promise.all(names.map(start))
  const people = new People(client, new PeopleEndpoints(receiver), stage.random)
  const fleet = new FleetFollower(client, stage.random)
  const [faults, cuts, acted, raised, absences] = await together(ms, (over) => [
    harmNodes({ random: stage.random, nodes, ways, start: startRelease }, over),
    harmNetwork({ harness, random: stage.random, proxies: [proxy, proxyOfPeople] }, over),
    people.act(peopleAtOnce, over),
    raiseTwice({ people, random: stage.random, partitions, ms }, over),
    receiver.beAway(over),
  ])
  const refused = JSON.stringify(Object.fromEntries(people.refusals))
  stage.say(`${faults} faults of nodes, ${cuts} of the network; ${acted} acts, refused: ${refused}`)
  const told = `${people.endpoints.all.length} endpoints got ${receiver.requests.length} requests; their receiver was away ${absences} times`
  stage.say(`${partitions} partitions, then ${raised}; ${told}`)
  // Between them the releases may have left out a kind.
  await start('whole')
  await harness.client.partitions.list()
  const sessions = await allSessions(harness)
  await comeToRest(harness, people, sessions)
  stage.say(`all rests: ${sessions.length} sessions`)
  const broken = [...people.complaints]
  for (const finding of (await harness.client.audit()).findings) broken.push(`audit: ${JSON.stringify(finding)}`)
  for (const id of sessions) broken.push(...((await unlessPruned(sessionFaults(harness, id))) ?? []))
  const judge = (what: Promise<unknown>) => what.catch((error: Error) => broken.push(error.message))
  for (const said of people.said) await judge(judgeSaid(harness, said))
  for (const follower of people.followers) await judge(unlessPruned(follower.judge()))
  await judge(fleet.judge(harness, raised))
  await judge((async () => judgePayments(harness, people))())
  broken.push(...(await gateFaults(harness)))
  broken.push(...(await endpointFaults(harness, people.endpoints, sessions)))
  await judge(judgeAwaited(people))
  await judge(judgeClosed(harness, people))
  await judge(judgeTold(harness, people))
  assert.deepEqual(broken, [])
  await judgeKeys(harness, sessions)
  return acted
}

function clock(random: Random): Pick<NodeSettings, 'preload'> {
  const off = [0, 0, 600_000, -600_000][Math.floor(4 * random())] as number
  return { preload: { program: wrongClock, env: { TROUPE_CLOCK_OFF_MS: String(off) } } }
}

interface Raise {
  readonly people: People
  readonly random: Random
  readonly partitions: number
  readonly ms: number
}

/** While all work. Resolves with how many partitions there are then. */
async function raiseTwice({ people, random, partitions, ms }: Raise, over: AbortSignal): Promise<number> {
  let now = partitions
  for (let raises = 2; raises > 0; raises--) {
    await pause(0.45 * ms * random(), undefined, { signal: over }).catch(() => {})
    const to = now + 1 + Math.floor(2 * random())
    await people.attempt('raise partitions', () => people.client.partitions.raise(to))
    now = to
  }
  return now
}

async function allSessions({ client }: Harness): Promise<string[]> {
  const sessions: string[] = []
  for (;;) {
    const before = sessions.at(-1)
    const page = await client.sessions.list({ limit: 200, ...(before !== undefined && { before }) })
    sessions.push(...page.map(({ id }) => id))
    if (page.length < 200) return sessions
  }
}

/** What is paused goes on, kinds end their runs, and each ask gets an answer. */
async function comeToRest(harness: Harness, people: People, sessions: readonly string[]): Promise<void> {
  const { client, ledger } = harness
  appendLine(ledger.file, { what: 'calm', worker: '', run: 0, attempt: 0, node: '', pid: process.pid, at: Date.now() })
  await client.resume()
  for (const id of sessions) await people.attempt('resume', () => client.sessions.get(id).resume())
  let told = ''
  const rests = async () => {
    const asks = await client.asks.list({ limit: 500 })
    for (const ask of asks) await people.attempt('answer', () => answer(people, ask))
    const { counts } = await client.audit()
    told = JSON.stringify(counts.all)
    return asks.length === 0 && counts.all.active === 0 && counts.all.waiting === 0
  }
  await waitUntil('nothing is in progress', rests, restMsMax).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${told}`)
  })
}

/** A message that was acknowledged stands in its history, its mailbox or among the dead letters that are open: once, whatever became of its session. */
async function judgeSaid(harness: Harness, { workerId, text }: Said): Promise<void> {
  const { client } = harness
  const history = await unlessPruned(harness.history(workerId))
  if (history === null) return
  const retried = new Set(history.flatMap((entry) => (entry.type === 'retried' ? [entry.run] : [])))
  const taken = history.filter(({ type }) => ['received', 'user', 'cancelled'].includes(type))
  // A handler receives the message of a run that is retried once more.
  const isRetried = history.some((entry) => entry.type === 'received' && retried.has(entry.run) && has(entry, text))
  const kept = [
    ...taken,
    ...(await client.workers.get(workerId).mailbox()),
    ...(await client.deadLetters({ workerId, open: true })),
  ]
  const times = kept.filter((one) => has(one, text)).length
  assert.ok(times === 1 || (isRetried && times > 1), `message ${text} of worker ${workerId} stands in ${times} places`)
}

function has(value: unknown, text: string): boolean {
  return JSON.stringify(value).includes(text)
}

/** A call of effect `once` that somebody let run again may have had its effect before. */
function judgePayments({ ledger }: Harness, { toRunAgain }: People): void {
  const payments = ledger.lines('paid').map(({ note }) => note as Payment)
  for (const [key, same] of Map.groupBy(payments, (payment) => payment.key)) {
    const isToRunAgain = same.some(({ sessionId }) => toRunAgain.has(sessionId))
    assert.ok(same.length === 1 || isToRunAgain, `the call with the key ${key} had its effect ${same.length} times`)
  }
}

/** A session that was pruned has left nothing but keys that expire, such as those of idempotency keys. */
async function judgeKeys(harness: Harness, sessions: readonly string[]): Promise<void> {
  const { client } = harness
  for (const id of sessions)
    await client.sessions
      .get(id)
      .cancel()
      .catch(() => {})
  let left: string[] = []
  const isTidy = async () => {
    await client.sessions.prune({ olderThanMs: 0 })
    left = await keysOfSessions(harness)
    return left.length === 0
  }
  await waitUntil('no key names a session or a worker', isTidy).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${left.sort().join(' ')}`)
  })
}

/** Those with a time to live go by themselves; those of BullMQ are not ours. */
async function keysOfSessions({ redis, namespace }: Harness): Promise<string[]> {
  const keys: string[] = []
  for await (const page of redis.scanStream({ match: `{${namespace}.*`, count: 1_000 })) {
    for (const key of page as string[]) {
      const isOfSession = /[0-9a-f-]{36}/.test(key) && !key.includes('}:q:')
      if (isOfSession && (await redis.pttl(key)) === -1) keys.push(key)
    }
  }
  return keys
}
