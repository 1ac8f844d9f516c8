/** Turns: what breaks if a cancel, a stop or a lost lease comes while a commit is on its way? The store's answers are held back here. */

import { describe, expect, expectTypeOf, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { newId } from '../../../src/core/ids.ts'
import type { Mail } from '../../../src/core/worker/message/message.ts'
import { afterRun } from '../../../src/core/worker/run-ends.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import type { Kind } from '../../../src/runtime/node/kind.ts'
import { handlerKind, KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { emptyStep, type Step } from '../../../src/runtime/turn/step/step.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { accepted, assignmentByHand, HeldStore } from '../support/held-store.ts'

const echo = handlerKind('echo', defineWorker({ receive: (message, self) => self.reply(message.value) }))

/** Names of the data of a type that others may write. */
type Writable<Type> = {
  [Name in keyof Type]-?: Type[Name] extends (...args: never[]) => unknown
    ? never
    : // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- nothing else tells a readonly property from another
      (<Any>() => Any extends { [_ in Name]: Type[Name] } ? 1 : 2) extends <Any>() => Any extends {
          -readonly [_ in Name]: Type[Name]
        }
          ? 1
          : 2
      ? Name
      : never
}[keyof Type]

test('no other file can write a field of a turn', () => {
  expectTypeOf<Writable<Pick<Turn, keyof Turn>>>().toEqualTypeOf<never>()
  expectTypeOf<Writable<{ mine: number; readonly yours: number }>>().toEqualTypeOf<'mine'>()
})

describe('a turn', () => {
  test('a turn has one commit without an answer at a time, even if a cancel comes while the last one is on its way (TURN-1)', async () => {
    const store = new HeldStore()
    const turn = new Turn(assignmentByHand(), store.host())
    void echo.behaviour(turn)
    await waitUntil('the ending commit is on its way', () => store.commits.length === 1)
    void turn.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    expect(store.commits).toHaveLength(1)
  })

  test.each([
    { steps: 0, isUncounted: true },
    { steps: 1, isUncounted: undefined },
  ])(
    'the commit that releases a turn with $steps steps says whether the start of its worker counts',
    async ({ steps, isUncounted }) => {
      const store = new HeldStore()
      const turn = new Turn(assignmentByHand({ suspect: true }), store.host())
      for (let step = 0; step < steps; step++) turn.add(emptyStep(turn.position))
      void turn.release()
      await waitUntil('the ending commit is on its way', () => store.commits.length === 1)
      const { end } = store.commits[0]?.request ?? {}
      expect([end?.wait, end?.isUncounted, end?.isIsolated]).toEqual(['again', isUncounted, true])
    },
  )

  test('a turn keeps the worker that its ending commit claimed when a cancel comes too late', async () => {
    const store = new HeldStore()
    const turn = new Turn(assignmentByHand(), store.host())
    void echo.behaviour(turn)
    await waitUntil('the ending commit is on its way', () => store.commits.length === 1)
    void turn.cancel()
    await new Promise((resolve) => setImmediate(resolve))
    // Both answers arrive together, as on one connection.
    store.commits[0]?.answer(accepted(1, { claimed: { kind: 'assigned', assignment: assignmentByHand() } }))
    store.commits[1]?.answer({ kind: 'fenced', claimed: { kind: 'none' } })
    await turn.finished
    await new Promise((resolve) => setImmediate(resolve))
    expect(turn.over).toBe('ended')
    expect(turn.endAnswer).toMatchObject({ claimed: { kind: 'assigned' } })
  })

  test('a turn of a worker with several messages receives none after it was released', async () => {
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
    const mail = assignmentByHand().mail.inbox.concat(assignmentByHand().mail.inbox)
    const turn = new Turn(assignmentByHand({ mail: { signals: [], results: [], inbox: mail } }), store.host())
    void deaf.behaviour(turn)
    await waitUntil('the first is received', () => seen.length === 1)
    void turn.release()
    await waitUntil('it is released', () => store.commits.length === 1)
    expect(store.commits[0]?.request).toMatchObject({ inputsConsumed: 0, end: { wait: 'again' } })
    store.commits[0]?.answer(accepted(1))
    await turn.finished
    expect(seen).toHaveLength(1)
  })

  describe('of a worker whose earlier start came to nothing', () => {
    const seen: unknown[] = []
    const noting = handlerKind('echo', defineWorker({ receive: (message) => void seen.push(message.value) }))
    const looks = defineTool({
      name: 'look',
      description: 'Looks.',
      effect: 'pure',
      run: () => void seen.push('looked'),
    })
    const looking = () =>
      new KindMaker(openModels({ env: {} })).make(
        'agent',
        defineWorker({
          instructions: 'Look.',
          model: scriptedModel('test/looks', [call('look'), say('seen')]),
          tools: [looks],
        }),
      )
    const mail = (value: number) => ({ ...(assignmentByHand().mail.inbox[0] as Mail), message: inputOf(value) })
    const inputOf = (value: number) => ({ kind: 'input', id: newId(0), from: null, value }) as const
    const begun = async (kind: Kind, starts: number) => {
      seen.length = 0
      const store = new HeldStore()
      const inbox = kind === noting ? [mail(1), mail(2)] : [mail(1)]
      const turn = new Turn(assignmentByHand({ starts, mail: { signals: [], results: [], inbox } }), store.host())
      void kind.behaviour(turn)
      await waitUntil('a commit is on its way', () => store.commits.length === 1)
      return { store, turn }
    }

    test('a worker whose earlier start came to nothing receives a message only once the one before is recorded; others at once (TURN-5)', async () => {
      const { store, turn } = await begun(noting, 2)
      expect(seen).toEqual([1])
      store.commits[0]?.answer(accepted(1))
      await waitUntil('the second is received', () => seen.length === 2)
      turn.abandon('fenced')
      const first = await begun(noting, 1)
      expect(seen).toEqual([1, 2])
      first.turn.abandon('fenced')
    })

    test('a worker whose earlier start came to nothing runs a tool without effects only once the reply that calls it is recorded; others at once (TURN-5)', async () => {
      const { store, turn } = await begun(looking(), 2)
      expect(store.commits[0]?.request.entries.join()).not.toContain('"assistant"')
      store.commits[0]?.answer(accepted(1))
      await waitUntil('the reply is on its way', () => store.commits.length === 2)
      await new Promise((resolve) => setImmediate(resolve))
      expect(store.commits[1]?.request.entries.join()).toContain('"assistant"')
      expect(seen).toEqual([])
      store.commits[1]?.answer(accepted(1))
      await waitUntil('the tool ran', () => seen.length === 1)
      turn.abandon('fenced')
      const first = await begun(looking(), 1)
      await waitUntil('the tool ran', () => seen.length === 1)
      expect(first.store.commits).toHaveLength(1)
      first.turn.abandon('fenced')
    })
  })

  describe('whose behaviour still reads its history', () => {
    const cancelled: Step = { ...emptyStep(afterRun(1)), entries: ['{"type":"cancelled"}'], outcome: 'cancelled' }

    test('a turn that still reads its history is cancelled as soon as its behaviour can say how, and not before', async () => {
      const store = new HeldStore()
      const turn = new Turn(assignmentByHand(), store.host())
      await turn.cancel()
      expect([turn.aborted, store.commits.length]).toEqual([true, 0])
      turn.whenCancelled(() => cancelled)
      await waitUntil('the cancelling end is on its way', () => store.commits.length === 1)
      expect(store.commits[0]?.request).toMatchObject({ outcome: 'cancelled', end: { wait: 'any' } })
      store.commits[0]?.answer(accepted(1))
      expect(await turn.finished).toBe('ended')
      expect(store.commits).toHaveLength(1)
    })

    test('a released turn that still reads its history is cancelled when Redis reports the cancel', async () => {
      const store = new HeldStore()
      const turn = new Turn(assignmentByHand(), store.host())
      void turn.release()
      await waitUntil('it is released', () => store.commits.length === 1)
      store.commits[0]?.answer({ kind: 'cancelled' })
      await waitUntil('the answer is seen', () => turn.aborted)
      turn.whenCancelled(() => cancelled)
      await waitUntil('the cancelling end is on its way', () => store.commits.length === 2)
      store.commits[1]?.answer(accepted(1))
      expect(await turn.finished).toBe('ended')
    })

    test('a turn that still reads its history is abandoned when it cannot say how its run ends', async () => {
      const store = new HeldStore()
      const turn = new Turn(assignmentByHand(), store.host())
      turn.whenCancelled(() => {
        throw new Error('no idea')
      })
      await turn.cancel()
      expect(await turn.finished).toBe('unreachable')
      expect(store.commits).toEqual([])
    })
  })
})
