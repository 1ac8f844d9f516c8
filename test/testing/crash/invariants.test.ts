/** What an audit finds in a session of a matrix becomes a violation. */
import { Redis } from 'ioredis'
import { defineWorker } from 'troupe'
import { crashMatrix } from 'troupe/test'
import { expect, inject, test } from 'vitest'
import { connect } from '../../../src/client/client.ts'
import { startNode } from '../../../src/compose.ts'
import { sessionKeys, tagOf, workerKeys } from '../../../src/store/keys.ts'
import { brokenInvariants } from '../../../src/testing/crash/invariants.ts'
import { newNamespace } from '../../support/namespace.ts'
import { reportOf, scenario } from '../scenarios/payment-scenarios.ts'

test('a broken invariant is reported with its number and its worker', async () => {
  const place = { redisUrl: inject('redisUrl'), namespace: newNamespace() }
  const redis = new Redis(place.redisUrl)
  try {
    await using node = await startNode({
      ...place,
      workers: { echo: defineWorker({ receive: (_, self) => self.reply(1) }) },
    })
    expect(node.kinds).toEqual(['echo'])
    await using client = await connect(place)
    const session = await client.sessions.create({ kind: 'echo', input: null })
    await session.result()
    expect(await brokenInvariants(client, await session.report())).toEqual([])
    // A report of what never comes to rest.
    const { session: ended, workers } = await session.report()
    const unread = workers.map((worker) => ({ ...worker, mailbox: { ...worker.mailbox, pending: 2 } }))
    const restless = { ...ended, state: 'active' as const }
    expect(await brokenInvariants(client, { session: restless, workers: unread })).toEqual([
      `I16: session ${session.id} has its result and is active`,
      `I1: 2 messages wait for ever at worker ${session.rootId} (echo)`,
    ])
    const { log } = workerKeys(tagOf(place.namespace, 0), session.rootId)
    await redis.lpush(log, (await redis.lindex(log, 0)) as string)
    const broken = await brokenInvariants(client, await session.report())
    expect(broken.join('\n')).toMatch(new RegExp(`^I\\d+: ${session.rootId}: `))
  } finally {
    redis.disconnect()
  }
})

test('a matrix whose sessions end well is no success if an invariant is broken in Redis', async () => {
  const redis = new Redis(inject('redisUrl'))
  let namespace = ''
  const spoiling = crashMatrix(
    scenario('asker', {
      input: ({ id }) => {
        namespace = id
        return null
      },
      answers: async ({ sessionId, question }) => {
        await redis.set(sessionKeys(tagOf(namespace, 0), sessionId).blobs, 'not what it was')
        return question === 'Ship it?' ? 'yes' : 3
      },
    }),
  )
  const { report } = await reportOf(spoiling).finally(() => redis.disconnect())
  expect(report).toMatchObject({
    points: [],
    runs: 1,
    violations: [
      { point: 'no crash', what: expect.stringMatching(/^key: \S+: key \S+ is a string and should be a hash$/) },
    ],
  })
})
