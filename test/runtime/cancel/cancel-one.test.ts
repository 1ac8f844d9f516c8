/** One worker, or one run, is cancelled on real nodes: its subtree ends, its parent gets one result, everything beside it goes on. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { RuntimeError } from '../../../src/core/errors.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import type { ClaimAnswer, TurnStore } from '../../../src/core/ports/ports.ts'
import type { ResultMessage } from '../../../src/core/worker/message/message.ts'
import { changedStore } from '../../support/changed-store.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Answers at once, unless the message says to wait: then it runs until it is told to stop. */
function patient(begun: string[]) {
  return defineWorker({
    receive(message, self) {
      const value = String(message.value)
      begun.push(value)
      if (!value.startsWith('wait')) return self.reply(value)
      return new Promise<void>((_, reject) => {
        self.signal.addEventListener('abort', () => reject(self.signal.reason as Error))
      })
    },
  })
}

/** Spawns a child for each text of its input, and replies with how each ended. */
const parent = defineWorker<{ from: string; status: string }[], unknown>({
  initial: [],
  receive(message, self) {
    if (message.kind === 'input') {
      self.setState([])
      for (const text of message.value as string[]) self.spawn('patient', text, { name: text.replace(' ', '-') })
      return
    }
    const { name, status } = message as ResultMessage
    const ended = [...self.state, { from: name, status }]
    self.setState(ended)
    if (ended.length === 2) self.reply(ended)
  },
})

const childOf = async (troupe: TestTroupe, sessionId: string, name: string) => {
  const report = await troupe.client.sessions.get(sessionId).report()
  const child = report.workers.find((worker) => worker.name === name)
  if (child === undefined) throw new Error(`There is no worker ${name}.`)
  return troupe.client.workers.get(child.id)
}

/**
 * Notes what Redis lets workers do that were cancelled, or whose parents were, before Redis was asked: starts, and steps that are recorded. Code of a
 * worker that had started before may begin a moment later, but nothing of it is recorded.
 */
function noting(late: string[], stopped: ReadonlySet<string>, parents: ReadonlyMap<string, string | null>) {
  return (turns: TurnStore): TurnStore => {
    const noteStart = (before: ReadonlySet<string>, answer: ClaimAnswer) => {
      if (answer.kind !== 'assigned' || answer.assignment.purpose === 'cancelled') return
      const { workerId, parentId } = answer.assignment
      if (before.has(workerId) || before.has(parentId ?? '')) late.push(`start of ${workerId}`)
    }
    return changedStore(turns, {
      async claim(next) {
        const before = new Set(stopped)
        const answer = await turns.claim(next)
        noteStart(before, answer)
        return answer
      },
      async commit(request) {
        const { workerId, outcome } = request
        const before = new Set(stopped)
        const answer = await turns.commit(request)
        const isOfStopped = before.has(workerId) || before.has(parents.get(workerId) ?? '')
        if (answer.kind === 'ok' && outcome !== 'cancelled' && isOfStopped) late.push(`commit of ${workerId}`)
        if ('claimed' in answer) noteStart(before, answer.claimed)
        return answer
      },
    })
  }
}

describe('worker.cancelRun', () => {
  test('worker.cancelRun stops the run at once, its message is not received again, and the next message starts the next run [4.13]', async () => {
    const begun: string[] = []
    await using troupe = await TestTroupe.start({ workers: { patient: patient(begun) } })
    const session = await troupe.create('patient', 'wait one', { keepOpen: true })
    await waitUntil('it runs', () => begun.length === 1)
    await session.root.send('two')
    expect(await session.root.cancelRun('enough')).toBe(true)
    expect(await session.result({ run: 1 })).toEqual({ status: 'cancelled', run: 1 })
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'two' })
    expect(begun).toEqual(['wait one', 'two'])
    expect(await session.root.cancelRun()).toBe(false)
    expect((await session.report()).workers[0]).toMatchObject({ lastFailure: null })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a cancel of the run of a job ends its session as cancelled, even while no node hosts its kind', async () => {
    await using troupe = await TestTroupe.start({ workers: {} })
    const session = await troupe.create('nobody', 'x')
    expect(await session.root.cancelRun('enough')).toBe(true)
    expect(await session.result()).toEqual({ status: 'cancelled', run: 1 })
    expect((await session.report()).session.state).toBe('cancelled')
    await expect(session.root.cancelRun()).rejects.toMatchObject({ code: 'session_finished' })
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})

describe('worker.cancel', () => {
  test('worker.cancel ends the child for good, its parent gets one cancelled result, and its sibling goes on [1.14]', async () => {
    const begun: string[] = []
    await using troupe = await TestTroupe.start({ workers: { patient: patient(begun), parent } })
    const session = await troupe.create('parent', ['wait here', 'answer'])
    await waitUntil('both run', () => begun.length === 2)
    const child = await childOf(troupe, session.id, 'wait-here')
    await child.cancel('wrong folder')
    const { value } = (await session.result()) as { value: { from: string; status: string }[] }
    expect(value.toSorted((a, b) => a.from.localeCompare(b.from))).toEqual([
      { from: 'answer', status: 'completed' },
      { from: 'wait-here', status: 'cancelled' },
    ])
    const listed = await troupe.client.workers.list({ sessionId: session.id })
    expect(listed.map(({ name, activity }) => `${name} ${activity}`).toSorted()).toEqual([
      'answer done',
      'parent done',
      'wait-here cancelled',
    ])
    await expectInvariants(troupe.redis, troupe.namespace)
    await expect(child.cancel()).rejects.toMatchObject({
      code: 'worker_terminal',
      message: expect.stringContaining(child.id),
    })
  })

  test('a cancel of an unknown worker says so, with its id', async () => {
    await using troupe = await TestTroupe.start({ workers: {} })
    const id = rootIdOf(newId(0))
    const worker = troupe.client.workers.get(id)
    for (const cancelling of [worker.cancel(), worker.cancelRun()])
      await expect(cancelling).rejects.toMatchObject({ code: 'worker_not_found', message: expect.stringContaining(id) })
  })

  test('a cancel of the root cancels its session', async () => {
    const begun: string[] = []
    await using troupe = await TestTroupe.start({ workers: { patient: patient(begun) } })
    const session = await troupe.create('patient', 'wait', { keepOpen: true })
    await waitUntil('it runs', () => begun.length === 1)
    await session.root.cancel('all')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    expect((await session.report()).session).toMatchObject({ state: 'cancelled', cancelReason: 'all' })
  })

  test('a cancel of a worker in a storm of spawns starts nothing below it afterwards, and each parent gets one result of each child', async () => {
    const stopped = new Set<string>()
    const parents = new Map<string, string | null>()
    const late: string[] = []
    const refused: string[] = []
    const nest = defineWorker<{ left: number }, unknown>({
      initial: { left: 0 },
      async receive(message, self) {
        parents.set(self.id, self.parentId)
        if (message.kind === 'input') {
          const depth = message.value as number
          if (depth === 0) return self.reply('leaf')
          self.setState({ left: 3 })
          for (let number = 0; number < 3; number++) self.spawn('nest', depth - 1)
          return
        }
        const left = self.state.left - 1
        self.setState({ left })
        if (left === 0) self.reply('node')
      },
    })
    const aroundTurns = noting(late, stopped, parents)
    await using troupe = await TestTroupe.start({ workers: { nest }, concurrency: 4, aroundTurns })
    await troupe.startNode({ nest }, { aroundTurns })
    const sessions = await Promise.all([1, 2, 3, 4].map(() => troupe.create('nest', 3)))
    for (const [index, session] of sessions.entries()) {
      await waitUntil('it has spawned', async () => (await session.report()).workers.length > 4)
      const { workers } = await session.report()
      const below = workers.filter(({ parentId }) => parentId !== null)
      const some = below.filter((_, place) => place % 3 === index % 3).slice(0, 6)
      await Promise.all(
        some.map(({ id }, place) => {
          const worker = troupe.client.workers.get(id)
          const cancelling =
            place % 2 === 0 ? worker.cancel('storm').then(() => stopped.add(id)) : worker.cancelRun('storm')
          return cancelling.catch((thrown: unknown) => refused.push((thrown as RuntimeError).code))
        }),
      )
    }
    for (const session of sessions) expect(await session.result()).toMatchObject({ status: 'completed', value: 'node' })
    expect(late).toEqual([])
    // Some had ended, or were cancelled with their parents, meanwhile.
    expect(['worker_terminal', 'session_finished']).toEqual(expect.arrayContaining([...new Set(refused)]))
    await waitUntil(
      'the cancels are finished',
      async () => (await troupe.redis.scard(`${troupe.tag}:cancelling`)) === 0,
    )
    await expectInvariants(troupe.redis, troupe.namespace)
  })
})
