/** F14, K11: a script is executed and its answer is lost, with the connection. It is sent again; nothing is done twice. */
import assert from 'node:assert/strict'
import { connectInternal, type Troupe } from '../../../../src/client/client.ts'
import { defaultSpending } from '../../../../src/core/policy.ts'
import * as scripts from '../../../../src/store/script/scripts.ts'
import { type TreeInput, treeResult } from '../../../programs/node/fault-kinds.ts'
import { expectInvariants } from '../../../support/fault/oracle.ts'
import { loadScripts } from '../../../support/redis/load-scripts.ts'
import { hasFunctions } from '../../../support/redis/redis-functions.ts'
import type { TcpProxy } from '../../../support/redis/tcp-proxy.ts'
import type { Row, Stage } from '../../row.ts'

const tree: TreeInput = { children: 3, steps: 2, stepMs: 30 }
/**
 * Redrive and dismiss need a dead letter, a retry a failed run, an answer an ask, a release a dying node; a pause of all sessions would hold the other trials; announcements are made and kinds forgotten once
 * a minute, a node rests only without work, nobody here amends a history or has a kind with gates, forks a session, has a blob registers an endpoint or has a token, histories rest for minutes before they are packed, a look is the audit's, rights are asked at connect: test/store/resend.test.ts loses their answers.
 */
const notCalled = [
  'redrive.lua',
  'dismiss.lua',
  'look.lua',
  'rights.lua',
  'answer.lua',
  'retry.lua',
  'release.lua',
  'pause-all.lua',
  'announce.lua',
  'rest.lua',
  'amend.lua',
  'enter.lua',
  'host.lua',
  'guest.lua',
  'cut.lua',
  'prepare-fork.lua',
  'fork.lua',
  'keep-blob.lua',
  'forget-kinds.lua',
  'cold.lua',
  'pack.lua',
  'deliver.lua',
  'delivered.lua',
  'endpoint.lua',
  'listen.lua',
  'give.lua',
]
const all = Object.values(scripts).filter(({ file }) => !notCalled.includes(file))

export const lostReplyRow: Row = {
  id: 'F14',
  promise: 'a script whose answer is lost is sent again, and does nothing twice (I2, I4, I11)',
  done: 'the connection is cut after the request and before the reply, of each script, under load; a trial is a lost reply',
  atOnce: 2,
  trials: ({ isLong }) =>
    all.map((script) => ({
      name: script.file,
      run: (stage: Stage) => loseReplies(stage, script, isLong ? 100 : 3),
    })),
}

async function loseReplies(stage: Stage, script: (typeof all)[number], count: number): Promise<number> {
  await using harness = await stage.open()
  const proxy = await harness.proxy()
  // Known already: from the first request on, what is cut was executed.
  await loadScripts(harness.redis)
  const called = (await hasFunctions(harness.redis)) ? script.functionName : script.sha
  const { namespace } = harness
  await using client = await connectInternal({ redisUrl: proxy.url, namespace, deadlineMs: 30_000 })
  await harness.start('a', { proxy, policy: { leaseMs: 5_000, renewEveryMs: 300, leaseMarginMs: 500 } })
  let made = 0
  const deadline = performance.now() + 120_000 + count * 2_000
  while (proxy.repliesLost < count) {
    assert.ok(performance.now() < deadline, `only ${proxy.repliesLost} replies of ${script.file} could be lost`)
    loseOne(proxy, called, count, stage)
    made += await work(client)
  }
  const lost = proxy.repliesLost
  proxy.mend()
  proxy.loseReplies('', 0)
  const { sessions, dead } = await expectInvariants(harness.redis, harness.namespace)
  assert.equal(dead.length, 0, 'a message became a dead letter')
  if (script.file !== 'prune.lua') assert.equal(sessions.size, made, 'a session was lost or made twice')
  return lost
}

/** Not one reply after the other: what is sent again has to come through now and then. */
function loseOne(proxy: TcpProxy, called: string, count: number, { random }: Stage): void {
  const left = count - proxy.repliesLost
  proxy.loseReplies(called, Math.min(left, 1 + Math.floor(3 * random())))
}

/** A bit of everything: trees, a long turn, a chain of steps, a conversation that is limited, paused and closed, cancels, a prune. */
async function work(client: Troupe): Promise<number> {
  const signal = AbortSignal.timeout(120_000)
  const create = (kind: string, input: unknown, keepOpen = false) => client.sessions.create({ kind, input, keepOpen })
  const [one, slow, chain, talk, doomed, stopped] = await Promise.all([
    create('tree', tree),
    create('slow', { ms: 250 }),
    create('chain', { left: 4, ms: 5 }),
    create('tally', 1, true),
    create('tree', { ...tree, stepMs: 60_000 }),
    create('tree', { ...tree, stepMs: 60_000 }, true),
  ])
  for (let message = 2; message <= 4; message++) await talk.root.send(message)
  assert.deepEqual(await talk.limit({ tokens: 5 }), { ...defaultSpending, tokens: 5 })
  assert.partialDeepStrictEqual(await talk.result({ run: 4, signal }), { value: { count: 4, sum: 10 } })
  assert.partialDeepStrictEqual(await talk.setApproval('readOnly'), { policy: 'readOnly' })
  await talk.pause()
  await talk.resume()
  await talk.close()
  await doomed.cancel('enough')
  await stopped.root.send(tree)
  assert.equal(await stopped.root.cancelRun('enough'), true)
  assert.partialDeepStrictEqual(await one.result({ signal }), { status: 'completed', value: treeResult(tree) })
  assert.partialDeepStrictEqual(await doomed.result({ signal }), { status: 'cancelled' })
  assert.partialDeepStrictEqual(await stopped.result({ run: 1, signal }), { status: 'cancelled' })
  // The cancel was sent again, and the next run was none of its business.
  assert.partialDeepStrictEqual(await stopped.result({ run: 2, signal }), { value: treeResult(tree) })
  await stopped.close()
  assert.partialDeepStrictEqual(await slow.result({ signal }), { status: 'completed' })
  assert.partialDeepStrictEqual(await chain.result({ signal }), { status: 'completed' })
  await client.sessions.prune({ olderThanMs: 3_600_000 })
  return 6
}
