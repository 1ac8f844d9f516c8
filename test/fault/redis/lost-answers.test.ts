/**
 * A claim that Redis made and whose answer never came: the worker it gave away must not wait for the end of a lease that nobody knows
 * of, nor be charged with a crash. Leases last a minute here, so nothing but the slot's next claim helps.
 */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import type { ClaimAnswer, TurnStore } from '../../../src/core/ports/ports.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const policy = { leaseMs: 600_000, renewEveryMs: 600_000, busyAfterMs: 600_000, leaseMarginMs: 1_000, wakeupMs: 300 }

/** Loses the first answer of this call that assigns a worker, and keeps what was asked of the store, and under which nonces. */
function losing(call: 'claim' | 'commit', asked: string[], nonces: string[]) {
  let isLost = false
  const lose = (claimed: ClaimAnswer) => {
    if (isLost || claimed.kind !== 'assigned') return
    isLost = true
    asked.push(`lost ${claimed.assignment.workerId}`)
    throw new TransientError('no answer', { code: 'store_unavailable' })
  }
  return (turns: TurnStore): TurnStore => ({
    partition: turns.partition,
    readHistory: (workerId, from) => turns.readHistory(workerId, from),
    cancelReason: (worker) => turns.cancelReason(worker),
    readInputs: (workerId, positions) => turns.readInputs(workerId, positions),
    enter: (worker, gates) => turns.enter(worker, gates),
    renew(requests) {
      asked.push(...requests.map(({ workerId }) => `renewed ${workerId}`))
      return turns.renew(requests)
    },
    async claim(next) {
      nonces.push(next.nonce)
      const answer = await turns.claim(next)
      if (call === 'claim') lose(answer)
      return answer
    },
    async commit(request) {
      if (typeof request.end?.next === 'object' && request.end.next !== null) nonces.push(request.end.next.nonce)
      const answer = await turns.commit(request)
      if (call === 'commit' && answer.kind === 'ok') lose(answer.claimed)
      return answer
    },
  })
}

describe('a worker that was assigned to a slot without its knowledge', () => {
  test.each(['claim', 'commit'] as const)(
    'a worker assigned without the knowledge of its slot by a %s runs as soon as the slot claims again',
    async (call) => {
      const [asked, nonces]: [string[], string[]] = [[], []]
      const echo = defineWorker({
        receive(message, self) {
          asked.push(`ran ${self.idempotencyKey.slice(0, 36)}`)
          self.reply(message.value)
        },
      })
      await using troupe = await TestTroupe.connect()
      const sessions = await Promise.all([1, 2, 3].map((number) => troupe.create('echo', number)))
      await troupe.startNode({ echo }, { policy, concurrency: 1, aroundTurns: losing(call, asked, nonces) })
      for (const [index, session] of sessions.entries()) {
        expect(await awaitResult(session)).toMatchObject({ value: index + 1 })
        expect(await troupe.redis.hget(workerKeys(troupe.tag, session.rootId).record, 'crashes')).toBeNull()
      }
      const [, lost = ''] = asked.find((word) => word.startsWith('lost'))?.split(' ') ?? []
      // Its lease is older than the node knows: it is renewed before the worker runs.
      expect(asked.filter((word) => word.endsWith(lost))).toEqual([`lost ${lost}`, `renewed ${lost}`, `ran ${lost}`])
      // Only the nonce that had no answer is used again.
      expect(nonces.length - new Set(nonces).size).toBe(1)
      await expectInvariants(troupe.redis, troupe.namespace)
    },
  )

  test('a worker that returned to the run queue before its lease is renewed is not run by the old assignment (SLOT-2, NONCE-2)', async () => {
    const [asked, nonces]: [string[], string[]] = [[], []]
    const echo = defineWorker({
      receive(message, self) {
        asked.push(`ran ${self.id}`)
        self.reply(message.value)
      },
    })
    await using troupe = await TestTroupe.connect()
    const sessions = await Promise.all([1, 2].map((number) => troupe.create('echo', number)))
    const late = (turns: TurnStore): TurnStore => {
      const store = losing('claim', asked, nonces)(turns)
      return {
        ...store,
        async renew(requests) {
          const workerId = requests[0]?.workerId ?? ''
          await troupe.redis.zadd(partitionKeys(troupe.tag).leases, 0, workerId)
          const { record } = workerKeys(troupe.tag, workerId)
          await waitUntil(
            'it is back in the run queue',
            async () => (await troupe.redis.hget(record, 'status')) === 'queued',
          )
          return store.renew(requests)
        },
      }
    }
    await troupe.startNode({ echo }, { policy, concurrency: 1, aroundTurns: late })
    for (const [index, session] of sessions.entries()) {
      expect(await awaitResult(session)).toMatchObject({ value: index + 1 })
    }
    const [, lost = ''] = asked.find((word) => word.startsWith('lost'))?.split(' ') ?? []
    expect(asked.filter((word) => word.endsWith(lost))).toEqual([`lost ${lost}`, `renewed ${lost}`, `ran ${lost}`])
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
