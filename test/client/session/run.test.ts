/** A run as programs see it: callbacks by name for its end, counts of runs, and waiting until all have ended. */
import { describe, expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { EndCallback } from '../../../src/client/session/run/run.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** A worker that replies, fails or waits, as its input says, once the gate is open. */
function gated({ opened }: Gate) {
  return defineWorker({
    async receive(message, self) {
      if (message.value === 'wait') return self.after(3_600_000, null)
      await opened
      if (message.value === 'fail') throw new TerminalError('the oven is cold')
      self.reply(message.value)
    },
  })
}

/** Callbacks that write down how they were called. */
function notebook() {
  const calls: unknown[][] = []
  const under =
    (name: string): EndCallback =>
    (worker, how, failure) =>
      calls.push([name, worker.id, how, ...(failure ? [failure.message] : [])])
  return { calls, under }
}

describe('run.onEnd', () => {
  test('calls each callback once with the worker and how its run ended, and at once if the run has ended [1.24]', async () => {
    const door = gate()
    await using troupe = await TestTroupe.start({ workers: { gated: gated(door) } })
    const { calls, under } = notebook()
    const session = await troupe.create('gated', 'baked')
    const run = session.run()
    run.onEnd('first', under('first'))
    run.onEnd('second', under('second'))
    expect(calls).toEqual([])
    door.open()
    await waitUntil('both were called', () => calls.length === 2)
    run.onEnd('late', under('late'))
    troupe.client.sessions.get(session.id).run(1).onEnd('elsewhere', under('elsewhere'))
    await waitUntil('the late ones were called', () => calls.length === 4)
    expect(calls.map(([name]) => String(name)).toSorted()).toEqual(['elsewhere', 'first', 'late', 'second'])
    for (const [, ...facts] of calls) expect(facts).toEqual([session.rootId, 'completed'])
    expect(run.number).toBe(1)
  })

  test('run.onEnd says why a run failed, and that a run was cancelled', async () => {
    const door = gate()
    door.open()
    await using troupe = await TestTroupe.start({ workers: { gated: gated(door) } })
    const { calls, under } = notebook()
    const failing = await troupe.create('gated', 'fail')
    const waiting = await troupe.create('gated', 'wait')
    failing.run().onEnd('failed', under('failed'))
    waiting.run().onEnd('cancelled', under('cancelled'))
    await waitUntil('the failure was told', () => calls.length === 1)
    expect(await waiting.run().cancel('enough')).toBe(true)
    await waitUntil('the cancel was told', () => calls.length === 2)
    expect(calls).toEqual([
      ['failed', failing.rootId, 'failed', 'the oven is cold'],
      ['cancelled', waiting.rootId, 'cancelled'],
    ])
    expect(await failing.run(7).cancel()).toBe(false)
    expect(await failing.run(1).cancel()).toBe(false)
  })

  test('run.cancel of a run that has ended cancels no message that waits behind it', async () => {
    const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const session = await troupe.create('echo', 'first', { keepOpen: true })
    const first = session.run()
    await first.result()
    await session.pause()
    await session.root.send('second')
    expect(await first.cancel()).toBe(false)
    await session.resume()
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: 'second' })
  })

  test('an ended run that was taken back or replaced calls nobody, and a callback that throws stops no other', async () => {
    const door = gate()
    const logged: unknown[][] = []
    await using troupe = await TestTroupe.start({
      workers: { gated: gated(door) },
      client: {
        logger: { ...console, error: (fields: object, message: string) => logged.push([message, fields]) },
      },
    })
    const { calls, under } = notebook()
    const run = (await troupe.create('gated', 'x')).run()
    run.onEnd('gone', under('gone'))
    expect([run.off('gone'), run.off('gone')]).toEqual([true, false])
    run.onEnd('same', under('replaced'))
    run.onEnd('same', under('same'))
    run.onEnd('broken', async () => {
      throw new Error('no oven')
    })
    door.open()
    await waitUntil('it was called', () => calls.length > 0 && logged.length > 0)
    expect(calls.map(([name]) => name)).toEqual(['same'])
    expect(logged).toEqual([
      ['a callback for the end of a run threw', expect.objectContaining({ name: 'broken', error: 'no oven' })],
    ])
  })

  test('a callback in a conversation belongs to one run: the next run calls nobody', async () => {
    const door = gate()
    door.open()
    await using troupe = await TestTroupe.start({ workers: { gated: gated(door) } })
    const { calls, under } = notebook()
    const session = await troupe.create('gated', 'one', { keepOpen: true })
    session.run(1).onEnd('one', under('one'))
    await waitUntil('the first end was told', () => calls.length === 1)
    await session.root.send('two')
    await session.result({ run: 2 })
    session.run(2).onEnd('two', under('two'))
    await waitUntil('the second end was told', () => calls.length === 2)
    expect(calls.map(([name]) => name)).toEqual(['one', 'two'])
  })

  test('refuses a name or a function that is none', async () => {
    await using troupe = await TestTroupe.connect()
    const run = (await troupe.create('nobody')).run()
    expect(() => run.onEnd('', () => {})).toThrow('onEnd takes a name')
    expect(() => run.onEnd('x', 1 as never)).toThrow('onEnd takes a function for "x"')
  })
})

describe('runs of a session', () => {
  test('runs of a session are counted, cancelled one by one or all, and waited for [1.16]', async () => {
    const door = gate()
    const parent = defineWorker({
      receive(message, self) {
        if (message.kind !== 'input') return
        for (const name of ['a', 'b']) self.spawn('gated', 'wait', { name, detached: true })
        self.spawn('gated', 'fail', { name: 'c', detached: true })
        self.reply('spawned')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { gated: gated(door), parent } })
    await using other = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
    const session = await troupe.create('parent', null, { keepOpen: true })
    await session.result()
    const { workers } = await session.report()
    expect(await session.counts()).toEqual({ idle: 1, busy: 3, idleFailed: 0 })
    expect(await troupe.client.sessions.counts()).toMatchObject({ active: 1, completed: 0 })
    let atRest: unknown
    const waiting = other.sessions
      .get(session.id)
      .idle()
      .then((counts) => (atRest = counts))
    const [first, second] = workers.filter(({ name }) => name === 'a' || name === 'b')
    expect(await troupe.client.workers.get(first?.id ?? '').cancelRun()).toBe(true)
    await waitUntil('one run was cancelled', async () => (await session.counts()).busy === 2)
    expect(atRest).toBeUndefined()
    door.open()
    await waitUntil('the failed run was counted', async () => (await session.counts()).idleFailed === 1)
    expect(atRest).toBeUndefined()
    await troupe.client.workers.get(second?.id ?? '').cancelRun()
    expect(await waiting).toEqual({ idle: 3, busy: 0, idleFailed: 1 })
    await session.cancel('all')
    await waitUntil('all was cancelled', async () => (await troupe.client.sessions.counts()).cancelled === 1)
    expect(await session.idle()).toMatchObject({ busy: 0 })
  })

  test('runs of a session are waited for no longer than the signal says', async () => {
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('nobody')
    const controller = new AbortController()
    const waiting = session.idle({ signal: controller.signal })
    controller.abort(new Error('no more patience'))
    await expect(waiting).rejects.toThrow('no more patience')
  })
})
