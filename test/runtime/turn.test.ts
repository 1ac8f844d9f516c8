/** Turns: what breaks if a cancel, a stop or a lost lease comes while a commit is on its way? The store's answers are held back here. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/define-worker.ts'
import type { ClaimAnswer, CommitAnswer } from '../../src/core/ports.ts'
import { handlerKind } from '../../src/runtime/kind-maker.ts'
import { afterRun } from '../../src/runtime/run-ending.ts'
import { emptyStep, type Step } from '../../src/runtime/step.ts'
import { Turn } from '../../src/runtime/turn.ts'
import { waitUntil } from '../support/wait-until.ts'
import { grantByHand, HeldStore } from './support/held-store.ts'

const ok = (claimed: ClaimAnswer): CommitAnswer => ({
  kind: 'ok',
  version: 1,
  bells: [],
  claimed,
})
const echo = handlerKind('echo', defineWorker({ receive: (message, self) => self.reply(message.value) }))

describe('a turn', () => {
  test('has one commit in flight at a time, also when a cancel comes while the last one is on its way (U1)', async () => {
    const store = new HeldStore()
    const turn = new Turn(grantByHand(), store.host())
    void echo.behaviour(turn)
    await waitUntil('the ending commit is on its way', () => store.commits.length === 1)
    void turn.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    expect(store.commits).toHaveLength(1)
  })

  test('keeps the worker that its ending commit claimed when a cancel comes too late', async () => {
    const store = new HeldStore()
    const turn = new Turn(grantByHand(), store.host())
    void echo.behaviour(turn)
    await waitUntil('the ending commit is on its way', () => store.commits.length === 1)
    void turn.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    // Both answers arrive together, as on one connection.
    store.commits[0]?.answer(ok({ kind: 'grant', grant: grantByHand() }))
    store.commits[1]?.answer({ kind: 'fenced', claimed: { kind: 'none' } })
    await turn.finished
    await new Promise((resolve) => setImmediate(resolve))
    expect(turn.over).toBe('ended')
    expect(turn.claimed.kind).toBe('grant')
  })

  test('of a worker with several messages receives no further one after it was released', async () => {
    const store = new HeldStore()
    const seen: unknown[] = []
    const deaf = handlerKind(
      'echo',
      defineWorker({
        async receive(message, self) {
          seen.push(message.value)
          await new Promise<void>((resolve) => self.signal.addEventListener('abort', () => resolve()))
        },
      }),
    )
    const mail = grantByHand().mail.user.concat(grantByHand().mail.user)
    const turn = new Turn(grantByHand({ mail: { control: [], family: [], user: mail } }), store.host())
    void deaf.behaviour(turn)
    await waitUntil('the first is received', () => seen.length === 1)
    void turn.release()
    await waitUntil('it is given back', () => store.commits.length === 1)
    expect(store.commits[0]?.request).toMatchObject({ userUsed: 0, end: { wait: 'again' } })
    store.commits[0]?.answer(ok({ kind: 'none' }))
    await turn.finished
    expect(seen).toHaveLength(1)
  })

  describe('whose behaviour still reads what it is about', () => {
    const cancelled: Step = { ...emptyStep(afterRun(1)), entries: ['{"type":"cancelled"}'], outcome: 'cancelled' }

    test('is cancelled as soon as the behaviour can say how, and not before', async () => {
      const store = new HeldStore()
      const turn = new Turn(grantByHand(), store.host())
      await turn.cancel()
      expect([turn.aborted, store.commits.length]).toEqual([true, 0])
      turn.whenCancelled(() => cancelled)
      await waitUntil('the cancelling end is on its way', () => store.commits.length === 1)
      expect(store.commits[0]?.request).toMatchObject({ outcome: 'cancelled', end: { wait: 'any' } })
      store.commits[0]?.answer(ok({ kind: 'none' }))
      expect(await turn.finished).toBe('ended')
      expect(store.commits).toHaveLength(1)
    })

    test('is so too when Redis says it, to a turn that is given back', async () => {
      const store = new HeldStore()
      const turn = new Turn(grantByHand(), store.host())
      void turn.release()
      await waitUntil('it is given back', () => store.commits.length === 1)
      store.commits[0]?.answer({ kind: 'cancelled' })
      await waitUntil('the answer is seen', () => turn.aborted)
      turn.whenCancelled(() => cancelled)
      await waitUntil('the cancelling end is on its way', () => store.commits.length === 2)
      store.commits[1]?.answer(ok({ kind: 'none' }))
      expect(await turn.finished).toBe('ended')
    })

    test('is given up when it cannot say how', async () => {
      const store = new HeldStore()
      const turn = new Turn(grantByHand(), store.host())
      turn.whenCancelled(() => {
        throw new Error('no idea')
      })
      await turn.cancel()
      expect(await turn.finished).toBe('unreachable')
      expect(store.commits).toEqual([])
    })
  })
})
