/** Each alert of docs/observability/alerts.yaml fires in its fault, as the real page of metrics says it, and not before. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { metricsPage } from '../../src/client/health/metrics-page.ts'
import { startNode, type TroupeNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say, scriptedModel } from '../../src/models/local/scripted-model.ts'
import { partitionKeys, workerKeys } from '../../src/store/keys.ts'
import { type MetricName, metrics } from '../../src/telemetry/metric-catalogue.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { firing, parseMetrics, type Series } from './support/alert-rule.ts'

interface AlertRule {
  readonly alert: string
  readonly expr: string
}

const folder = new URL('../../docs/observability/', import.meta.url)
const alerts = parse(await readFile(new URL('alerts.yaml', folder), 'utf8')) as { groups: { rules: AlertRule[] }[] }
const rules = alerts.groups.flatMap((group) => group.rules)
const board = await readFile(new URL('grafana.json', folder), 'utf8')

const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', approval: 'always', run: () => 'paid' })
const held = Promise.withResolvers<void>()
const hang = defineTool({
  name: 'hang',
  description: 'Does not end.',
  effect: 'once',
  approval: 'never',
  run: () => {
    held.resolve()
    return new Promise<string>(() => {})
  },
})
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })

const workers = {
  payer: defineWorker({ instructions: 'x', model: scriptedModel('test/m', [call('pay', {}, 'c1')]), tools: [pay] }),
  hanging: defineWorker({ instructions: 'x', model: scriptedModel('test/m', [call('hang', {}, 'c1')]), tools: [hang] }),
  spender: defineWorker({
    instructions: 'x',
    model: scriptedModel('test/m', [call('look', {}, 'c1'), say('no more')]),
    tools: [look],
  }),
  echo: defineWorker({ receive: ({ value }, self) => self.reply(value) }),
}

/** Alerts that were seen firing in this file. */
const seen = new Set<string>()
const unnamed = (name: string) => rules.find(({ alert }) => alert === name) as AlertRule

function firesIn(name: string, before: readonly Series[], now: readonly Series[]): string[] {
  const groups = firing(unnamed(name).expr, before, now)
  if (groups.length > 0) seen.add(name)
  return groups
}

describe('in a running system', () => {
  let troupe: TestTroupe
  let node: TroupeNode

  const page = async (): Promise<Series[]> => parseMetrics(await (await fetch(node.metricsUrl ?? '')).text())
  const start = () => {
    const { redisUrl, namespace } = troupe
    return startNode({ redisUrl, namespace, workers, concurrency: 4, metrics: { port: 0 }, endIfBlocked: false })
  }
  /** The alert does not fire, then what is done makes it fire. */
  const fires = async (name: string, fault: () => Promise<unknown>, before?: readonly Series[]): Promise<string[]> => {
    const quiet = before ?? (await page())
    expect(firing(unnamed(name).expr, quiet, quiet)).toEqual([])
    await fault()
    return waitUntil(`${name} fires`, async () => {
      const groups = firesIn(name, quiet, await page())
      return groups.length > 0 && groups
    })
  }

  beforeAll(async () => {
    troupe = await TestTroupe.connect()
    node = await start()
  })

  afterAll(async () => {
    await node.stop({ force: true })
    await troupe[Symbol.asyncDispose]()
  })

  test('a system in which nothing is wrong fires no alert', async () => {
    expect(await troupe.run('echo', 'hello')).toMatchObject({ status: 'completed' })
    const now = await page()
    expect(rules.filter(({ expr }) => firing(expr, now, now).length > 0)).toEqual([])
  })

  test('an alert fires for work of a kind that no node hosts', async () => {
    expect(await fires('TroupeKindWithoutNode', () => troupe.create('ghost'))).toEqual(['ghost'])
  })

  test('an alert fires for a tool call that waits for a person', async () => {
    expect(await fires('TroupeApprovalWaits', () => troupe.create('payer', 'go'))).toEqual([''])
  })

  test('an alert fires for a session that may spend no more', async () => {
    const spend = () => troupe.create('spender', 'go', { limits: { modelCalls: 1 } })
    expect(await fires('TroupeBudgetExceeded', spend)).toEqual([''])
  })

  test('an alert fires for a call whose outcome nobody knows, after its node stopped in the middle', async () => {
    const session = await troupe.create('hanging', 'go')
    await held.promise
    await node.stop({ force: true })
    node = await start()
    const before = (await page()).map((one) => ({ ...one, value: 0 }))
    await waitUntil('the alert fires', async () => firesIn('TroupeUnknownOutcome', before, await page()).length > 0)
    expect(await session.result()).toMatchObject({ status: 'failed' })
  })

  test('an alert fires when all sessions are paused', async () => {
    expect(await fires('TroupePaused', () => troupe.client.pause('test'))).toEqual([''])
    await troupe.client.resume()
  })

  test('an alert fires for a node that stands still', async () => {
    const { nodes } = partitionKeys(troupe.tag)
    const line = (await troupe.redis.hget(nodes, node.id)) ?? ''
    const old = line.replace(/^\d+/, String(Date.now() - 20_000))
    expect(await fires('TroupeStalledNode', () => troupe.redis.hset(nodes, 'n-still', old))).toEqual([''])
  })

  test('an alert fires for a message that another program removed, once an audit is recorded', async () => {
    await fires('TroupeUnaccountedMessages', async () => {
      const { root } = await troupe.create('nobody', 'lost')
      await troupe.redis.del(workerKeys(troupe.tag, root.id).inbox)
      await troupe.client.audit({ record: true })
    })
    expect(firesIn('TroupeAuditFinding', [], await page())).toEqual([''])
  })
})

test('an alert fires for a worker that never commits: leases are lost, then it is quarantined and its message is put aside', async () => {
  const policy = { leaseMs: 300, renewEveryMs: 100, leaseMarginMs: 50, sweepEveryMs: 50 }
  const { MetricSet } = await import('../../src/telemetry/metric-set.ts')
  const { CountingTelemetry } = await import('../../src/telemetry/counting-telemetry.ts')
  const counted = new MetricSet()
  await using troupe = await TestTroupe.start({
    workers: { echo: workers.echo },
    policy,
    telemetry: new CountingTelemetry(counted),
    aroundTurns: (turns) =>
      new Proxy(turns, {
        get(target, name) {
          const member = Reflect.get(target, name) as unknown
          if (name === 'commit')
            return (request: Parameters<typeof turns.commit>[0]) =>
              request.dead === undefined ? Promise.reject(new Error('the network is gone')) : target.commit(request)
          return typeof member === 'function' ? member.bind(target) : member
        },
      }),
  })
  const page = async () => parseMetrics(await metricsPage(() => troupe.client.facts(), counted))
  const before = await page()
  await troupe.create('echo', 'poison')
  await waitUntil('it is quarantined', async () => firesIn('TroupeDeadLetter', before, await page()).length > 0)
  expect(firesIn('TroupeLeaseLost', before, await page())).toEqual([''])
  expect(firesIn('TroupeQuarantined', before, await page())).toEqual([''])
})

test('alerts on facts that no test can stage in a shared Redis: the page of a system with these facts', async () => {
  await using troupe = await TestTroupe.connect()
  const facts = await troupe.client.facts()
  const pageOf = async (more: Partial<typeof facts>) =>
    parseMetrics(await metricsPage(() => Promise.resolve({ ...facts, ...more })))
  const gone = parseMetrics(await metricsPage(() => Promise.reject(new Error('Redis is away'))))
  expect(firesIn('TroupeUnreadable', [], gone)).toEqual([''])
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    // A monitor waits for ten seconds, and learns nothing from a page that takes longer.
    const silent = metricsPage(() => new Promise(() => {}))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(firesIn('TroupeUnreadable', [], parseMetrics(await silent))).toEqual([''])
  } finally {
    vi.useRealTimers()
  }
  expect(firesIn('TroupeSilent', [], [])).toEqual([''])
  expect(firesIn('TroupeNoNode', [], await pageOf({}))).toEqual([''])
  expect(firesIn('TroupeSlotsFull', [], await pageOf({ slots: 4, running: 4 }))).toEqual([''])
  // Work of a kind that no node hosts has an alert of its own: more nodes of this sort do not help it.
  const pools = ['gpu', 'unhosted'].map((pool) => ({ pool, waiting: 1, oldestMs: 61_000, nodes: 1 }))
  expect(firesIn('TroupeWorkWaits', [], await pageOf({ pools }))).toEqual(['gpu'])
  const redis = { usedBytes: 9, maxBytes: 10, fullest: 0.9 }
  expect(firesIn('TroupeRedisNearlyFull', [], await pageOf({ redis }))).toEqual([''])
  const audit = { unaccounted: 0, findings: 0, agoMs: 3 * 86_400_000 }
  expect(firesIn('TroupeAuditOld', [], await pageOf({ audit }))).toEqual([''])
})

test('every alert has fired in one of these tests', () => {
  expect(rules.map(({ alert }) => alert).filter((alert) => !seen.has(alert))).toEqual([])
})

test('alerts and board name metrics that exist', () => {
  const named = [...rules.map(({ expr }) => expr), board].flatMap((text) => text.match(/\btroupe_[a-z_]+/g) ?? [])
  const known = Object.entries(metrics).flatMap(([name, { type }]) => (type === 'histogram' ? `${name}_bucket` : name))
  expect([...new Set(named)].filter((name) => !known.includes(name))).toEqual([])
})

test('alerts and board name labels that their metrics have', () => {
  const ofBoard = [...board.matchAll(/"expr": (".*")/g)].map(([, json]) => JSON.parse(json as string) as string)
  const wrong = [...rules.map(({ expr }) => expr), ...ofBoard].filter((expr) => {
    const names = expr.match(/\btroupe_[a-z_]+/g) ?? []
    const known = names.flatMap((name) => metrics[name.replace(/_bucket$/, '') as MetricName].labels)
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) => (labels as string).split(', '))
    const matched = [...expr.matchAll(/(\w+)!?="/g)].map(([, label]) => label as string)
    return [...grouped, ...matched].some((label) => label !== 'le' && !known.includes(label))
  })
  expect(ofBoard.length).toBeGreaterThan(rules.length)
  expect(wrong).toEqual([])
})
