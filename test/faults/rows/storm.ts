/** F01, F45: nodes are killed at random under load; each message is received once, in order, and each tree has the right result. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type TreeInput, treeResult } from '../../programs/node/fault-kinds.ts'
import type { Harness, NodeProcess } from '../../support/fault/harness.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import type { Row, Stage } from '../row.ts'

const names = ['a', 'b', 'c', 'd']
const tree: TreeInput = { children: 10, steps: 4, stepMs: 100 }

interface Size {
  readonly kills: number
  readonly talks: number
  readonly messages: number
  readonly trees: number
}

const short: Size = { kills: 8, talks: 20, messages: 20, trees: 30 }

export const stormRow: Row = {
  id: 'F01',
  promise: 'no accepted message is lost, doubled or out of order, whatever is killed when (I1 to I9)',
  done: '4 nodes, killed at random every 0.2 to 2 s; messages to 50 conversations, trees of 11 workers; a trial is a kill',
  atOnce: 2,
  trials({ isLong, kills = isLong ? 200 : short.kills }) {
    const size = isLong ? { kills, talks: 50, messages: 200, trees: kills } : { ...short, kills }
    return Array.from({ length: isLong ? 20 : 1 }, (_, index) => ({
      name: `seed ${index + 1}`,
      run: (stage: Stage) => storm(stage, size),
    }))
  },
}

async function storm(stage: Stage, size: Size): Promise<number> {
  await using harness = await stage.open()
  const nodes = await Promise.all(names.map((name) => harness.start(name)))
  // Work is spread over the kills, and goes on until the last of them.
  const stormMs = size.kills * 1_150
  const [kills, talks, trees] = await Promise.all([
    killAtRandom(stage, harness, nodes, size.kills),
    talk(harness, size, stormMs),
    grow(harness, size, stormMs),
  ])
  const killedAt = performance.now()
  for (const result of await Promise.all(trees))
    assert.partialDeepStrictEqual(result, { status: 'completed', value: treeResult(tree) })
  const { workers, dead } = await expectInvariants(harness.redis, harness.namespace)
  stage.say(`${kills} kills; at rest ${Math.round(performance.now() - killedAt)} ms after the last`)
  assert.equal(dead.length, 0, `${dead.length} messages became dead letters`)
  for (const id of talks) {
    const history = workers.get(id)?.history ?? []
    const inputs = history.flatMap((entry) => (entry.type === 'received' ? [entry.message.value] : []))
    assert.deepEqual(
      inputs,
      Array.from({ length: size.messages }, (_, index) => index),
    )
    assert.equal(history.filter(({ type }) => type === 'completed').length, size.messages)
  }
  assert.equal(workers.size, size.talks + size.trees * (tree.children + 1))
  assert.equal(await harness.redis.zcard(`${harness.tag}:timers`), 0, 'a timer was left behind')
  return kills
}

async function killAtRandom({ random }: Stage, harness: Harness, nodes: NodeProcess[], count: number): Promise<number> {
  let running = 0
  const starting = new Set<Promise<void>>()
  for (let kill = 0; kill < count; kill++) {
    await pause(200 + 1_800 * random())
    const place = Math.floor(random() * nodes.length)
    await nodes[place]?.kill()
    running++
    const started = harness.start(names[place] as string).then((node) => {
      nodes[place] = node
    })
    // The next kill does not wait for it, but nothing is left behind.
    const settled = started.catch(() => {})
    starting.add(settled)
    await settled
  }
  await Promise.all(starting)
  return running
}

async function talk(harness: Harness, { talks, messages }: Size, ms: number): Promise<string[]> {
  const sessions = await Promise.all(
    Array.from({ length: talks }, (_, number) =>
      harness.client.sessions.create({ kind: 'tally', input: 0, keepOpen: true, idempotencyKey: `talk ${number}` }),
    ),
  )
  for (let message = 1; message < messages; message++) {
    await pause((0.8 * ms) / messages)
    const key = { idempotencyKey: `message ${message}` }
    await Promise.all(sessions.map((session) => session.root.send(message, key)))
  }
  return sessions.map(({ rootId }) => rootId)
}

async function grow(harness: Harness, { trees }: Size, ms: number): Promise<Promise<unknown>[]> {
  const results: Promise<unknown>[] = []
  for (let number = 0; number < trees; number++) {
    const key = { idempotencyKey: `tree ${number}` }
    const session = await harness.client.sessions.create({ kind: 'tree', input: tree, ...key })
    const result = session.result({ signal: AbortSignal.timeout(ms + 120_000) })
    result.catch(() => {})
    results.push(result)
    await pause((0.8 * ms) / trees)
  }
  return results
}
