/** F30, I14: a worker that takes its node down is run apart and quarantined; the innocent beside it are not blamed. */
import { describe, expect, test } from 'vitest'
import { policy } from '../../src/core/policy.ts'
import { Harness, type NodeProcess } from '../support/fault/harness.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { awaitResult } from '../support/time/await-session.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const startsAtMost = policy.suspectAfterStarts + policy.poisonAfterIsolatedStarts

/** Starts a node again each time it ends, until it is told to stop: what a process manager does. */
function keepAlive(harness: Harness, name: string): { stop(): Promise<void>; readonly deaths: number } {
  const stopping = new AbortController()
  let deaths = 0
  const living = (async () => {
    while (!stopping.signal.aborted) {
      const node: NodeProcess | null = await harness.start(name).catch(() => null)
      if (node === null) continue
      while (!stopping.signal.aborted && !node.isGone) await new Promise((resolve) => setTimeout(resolve, 20))
      if (!stopping.signal.aborted) deaths++
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await living
    },
    get deaths() {
      return deaths
    },
  }
}

describe('a handler that takes its process down', () => {
  test.concurrent.each(['kill', 'exit'])(
    'a handler that takes its process down by %s is quarantined, its parent gets a typed failure, and the worker lives on',
    { timeout: 600_000 },
    async (how) => {
      await using harness = await Harness.open()
      const nodes = ['a', 'b'].map((name) => keepAlive(harness, name))
      try {
        const parent = await harness.client.sessions.create({ kind: 'deadly-parent', input: how, keepOpen: true })
        const innocent = await Promise.all(
          Array.from({ length: 20 }, (_, number) =>
            harness.client.sessions.create({
              kind: 'tree',
              input: { children: 2, steps: 3, stepMs: 100 + number * 20 },
            }),
          ),
        )
        const result = await awaitResult(parent, { run: 1, msMax: 240_000 })
        expect(result).toMatchObject({ status: 'completed', value: { status: 'failed', code: 'poison' } })
        for (const session of innocent) expect(await awaitResult(session)).toMatchObject({ status: 'completed' })

        const { workers } = await parent.report()
        const child = workers.find(({ kind }) => kind === 'deadly')
        if (child === undefined) throw new Error('the parent has no child')
        expect(harness.ledger.lines('deadly').length).toBeGreaterThanOrEqual(policy.poisonAfterIsolatedStarts)
        expect(harness.ledger.lines('deadly').length).toBeLessThanOrEqual(startsAtMost)
        expect(child.lastFailure).toMatchObject({ code: 'poison', retryable: false })
        const [letter, ...more] = await harness.client.deadLetters()
        expect(more).toEqual([])
        expect(letter).toMatchObject({
          workerId: child.id,
          sessionId: parent.id,
          message: { kind: 'input', value: how },
          evidence: { failure: { code: 'poison' } },
        })
        expect(Number(letter?.evidence.crashes)).toBeGreaterThanOrEqual(policy.poisonAfterIsolatedStarts)

        await harness.client.workers.get(child.id).send('be nice')
        await waitUntil('the worker answers a later message', async () =>
          (await harness.history(child.id)).some((entry) => entry.type === 'completed' && entry.value === 'alive'),
        )
      } finally {
        await Promise.all(nodes.map((node) => node.stop()))
      }
      await expectInvariants(harness.redis, harness.namespace)
    },
  )

  test.concurrent('innocent messages are not quarantined even if several are deadly at the same time', {
    timeout: 600_000,
  }, async () => {
    await using harness = await Harness.open()
    const node = keepAlive(harness, 'only')
    try {
      const deadly = await Promise.all(
        Array.from({ length: 3 }, () => harness.client.sessions.create({ kind: 'deadly', input: 'kill' })),
      )
      const innocent = await Promise.all(
        Array.from({ length: 6 }, () => harness.client.sessions.create({ kind: 'slow', input: { ms: 300 } })),
      )
      for (const session of deadly) {
        expect(await awaitResult(session, { msMax: 240_000 })).toMatchObject({
          status: 'failed',
          failure: { code: 'poison' },
        })
      }
      for (const session of innocent) expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    } finally {
      await node.stop()
    }
    const { dead } = await expectInvariants(harness.redis, harness.namespace)
    expect(dead).toHaveLength(3)
    expect(node.deaths).toBeLessThanOrEqual(3 * startsAtMost)
  })

  test.concurrent('the message that kills the handler is quarantined, not the one whose step waited for the same commit', {
    timeout: 600_000,
  }, async () => {
    await using harness = await Harness.open()
    const node = keepAlive(harness, 'only')
    try {
      const session = await harness.client.sessions.create({ kind: 'dies-of-second', input: null })
      expect(await awaitResult(session, { msMax: 240_000 })).toMatchObject({
        status: 'failed',
        failure: { code: 'poison', message: expect.stringMatching(/:2 \(result\)/) },
      })
    } finally {
      await node.stop()
    }
    const gathered = harness.ledger.lines('gathered').map(({ note }) => note)
    expect(gathered.filter((call) => call === 1).length).toBeLessThanOrEqual(2)
    await expectInvariants(harness.redis, harness.namespace)
  })
})
