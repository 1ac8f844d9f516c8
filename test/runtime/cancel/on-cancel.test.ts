/** `onCancel` of a kind on real nodes: the last step of a cancelled run. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { AgentCancelSelf, CancelSelf } from '../../../src/core/definition/on-cancel.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { CancelledEntry } from '../../../src/core/history/entry.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

type Undo = (self: CancelSelf<{ booked: string | null }>, reason: string) => void | Promise<void>

/** Books what its input names, and then waits for a timer that does not come, or in `receive` if the input says so. */
function booking(begun: string[], onCancel: Undo, onCancelMs?: number) {
  return defineWorker<{ booked: string | null }, unknown>({
    initial: { booked: null },
    receive(message, self) {
      const value = String(message.value)
      begun.push(value)
      if (value === 'quick') return self.reply(value)
      if (value.startsWith('work'))
        return new Promise<void>((_, reject) => {
          self.signal.addEventListener('abort', () => reject(self.signal.reason as Error))
        })
      self.setState({ booked: value })
      self.after(3_600_000, null)
    },
    onCancel,
    ...(onCancelMs !== undefined && { onCancelMs }),
  })
}

const sink = defineWorker({ receive: (message: Message, self) => self.reply(message.value) })

async function cancelledOf(troupe: TestTroupe, workerId: string): Promise<CancelledEntry[]> {
  const history = await troupe.history(workerId)
  return history.filter((entry): entry is CancelledEntry => entry.type === 'cancelled')
}

const settled = async (troupe: TestTroupe) => {
  await waitUntil('the cancels are finished', async () => (await troupe.redis.scard(`${troupe.tag}:cancelling`)) === 0)
  await expectInvariants(troupe.redis, troupe.namespace)
}

describe('onCancel of a handler', () => {
  test('onCancel of a handler is called once when a waiting run is cancelled, with the reason and the recorded state', async () => {
    const seen: unknown[] = []
    const begun: string[] = []
    const kind = booking(begun, (self, reason) => {
      seen.push([self.run, self.state.booked, reason, self.idempotencyKey === `${self.id}/${self.run}/cancel`])
      self.setState({ booked: null })
    })
    await using troupe = await TestTroupe.start({ workers: { kind } })
    const session = await troupe.create('kind', 'hotel', { keepOpen: true })
    await waitUntil('it waits', async () => (await session.report()).workers[0]?.state === 'waiting')
    expect(await session.root.cancelRun('too dear')).toBe(true)
    expect(await session.result({ run: 1 })).toEqual({ status: 'cancelled', run: 1 })
    expect(seen).toEqual([[1, 'hotel', 'too dear', true]])
    expect(await cancelledOf(troupe, session.rootId)).toMatchObject([{ run: 1, onCancel: { reason: 'too dear' } }])
    await session.root.send('quick')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    await session.cancel('all')
    await settled(troupe)
    expect(seen).toHaveLength(1)
  })

  test('onCancel of a handler is called after the receive that the cancel interrupts has returned', async () => {
    const seen: string[] = []
    const kind = defineWorker({
      async receive(_message, self) {
        seen.push('begins')
        await new Promise((resolve) => self.signal.addEventListener('abort', resolve))
        await new Promise((resolve) => setImmediate(resolve))
        seen.push('returns')
      },
      onCancel: (_self, reason) => void seen.push(`onCancel: ${reason}`),
    })
    await using troupe = await TestTroupe.start({ workers: { kind } })
    const session = await troupe.create('kind')
    await waitUntil('it runs', () => seen.length === 1)
    await session.cancel('enough')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    expect(seen).toEqual(['begins', 'returns', 'onCancel: enough'])
    await settled(troupe)
  })

  test('onCancel does not wait for a step that the cancel refuses', async () => {
    const seen: string[] = []
    let go = () => {}
    const kind = defineWorker({
      async receive(_message, self) {
        seen.push('begins')
        await new Promise<void>((resolve) => (go = resolve))
        await self.step('late', () => 1).catch((thrown: Error) => seen.push(thrown.name))
      },
      onCancel: () => void seen.push('onCancel'),
    })
    await using troupe = await TestTroupe.start({
      workers: { kind },
      policy: { renewEveryMs: 60_000, busyAfterMs: 60_000 },
    })
    const session = await troupe.create('kind')
    await waitUntil('it runs', () => seen.length === 1)
    // Nobody tells the node of the cancel: the commit of the step finds it.
    await troupe.redis.sadd(`${troupe.tag}:s:${session.id}:cancelled`, `${session.rootId}:*`)
    await troupe.redis.hset(`${troupe.tag}:w:${session.rootId}`, 'cancelCount', '1', 'cancel', '"quiet"')
    await troupe.redis.sadd(`${troupe.tag}:cancelling`, session.id)
    go()
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    expect(seen).toEqual(['begins', 'CancelledError', 'onCancel'])
  })

  test('onCancel of a handler is not called for a run that has not begun, nor for an idle worker, and delays neither', async () => {
    const seen: string[] = []
    const begun: string[] = []
    const kind = booking(begun, (self) => void seen.push(self.id))
    await using troupe = await TestTroupe.connect()
    const queued = await troupe.create('kind', 'hotel')
    await troupe.startNode({ sink })
    await queued.cancel('before it began')
    expect(await queued.result()).toMatchObject({ status: 'cancelled' })
    await troupe.startNode({ kind })
    const rests = await troupe.create('kind', 'quick', { keepOpen: true })
    await rests.result({ run: 1 })
    await rests.cancel('it rests')
    await settled(troupe)
    expect(seen).toEqual([])
  })

  test('messages that onCancel sends leave with the end of the run; a parent gets one result', async () => {
    const begun: string[] = []
    const kind = booking(begun, (self, reason) =>
      self.send(self.parentId as string, { undone: self.state.booked, reason }),
    )
    const parent = defineWorker<{ status?: string }, unknown>({
      initial: {},
      receive(message, self) {
        if (message.kind === 'result') return self.reply({ status: message.status })
        if (message.value !== 'go') return self.reply(message.value)
        self.spawn('kind', 'hotel', { name: 'child' })
      },
    })
    await using troupe = await TestTroupe.start({ workers: { kind, parent } })
    const session = await troupe.create('parent', 'go', { keepOpen: true })
    const child = await waitUntil('the child waits', async () =>
      (await session.report()).workers.find(({ name, state }) => name === 'child' && state === 'waiting'),
    )
    await troupe.client.workers.get(child.id).cancel('full')
    expect(await session.result({ run: 1 })).toMatchObject({ value: { status: 'cancelled' } })
    expect(await session.result({ run: 2 })).toMatchObject({ value: { undone: 'hotel', reason: 'full' } })
    expect(await cancelledOf(troupe, child.id)).toMatchObject([{ onCancel: { sent: [session.rootId] } }])
    await settled(troupe)
  })

  test('onCancel of each worker of a cancelled tree is called, with the reason of the session; children of an ended run get another', async () => {
    const reasons: string[] = []
    const begun: string[] = []
    const kind = booking(begun, (_self, reason) => void reasons.push(reason))
    const parent = defineWorker<null, unknown>({
      receive(message, self) {
        if (message.kind === 'result') return
        self.spawn('kind', 'hotel')
        self.spawn('kind', 'train')
        if (message.value === 'leave') self.after(0, null)
        if (message.kind === 'timer') self.reply('left')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { kind, parent } })
    const first = await troupe.create('parent', 'wait')
    await waitUntil('both wait', () => begun.length === 2)
    await first.cancel('all of it')
    await waitUntil('both are undone', () => reasons.length === 2)
    expect(reasons).toEqual(['all of it', 'all of it'])
    await settled(troupe)
  })

  test('an onCancel that took its nodes down often enough to be poison is not called again, and the run ends as cancelled', async () => {
    const begun: string[] = []
    const seen: string[] = []
    const kind = booking(begun, (self) => void seen.push(self.id))
    await using troupe = await TestTroupe.start({ workers: { kind } })
    const session = await troupe.create('kind', 'hotel', { keepOpen: true })
    await waitUntil('it waits', async () => (await session.report()).workers[0]?.state === 'waiting')
    // Leaves the worker as if leases had ended: six starts since the last commit.
    await troupe.redis.hset(`${troupe.tag}:w:${session.rootId}`, 'token', '7:')
    await session.root.cancelRun('enough')
    expect(await session.result({ run: 1 })).toEqual({ status: 'cancelled', run: 1 })
    expect(await cancelledOf(troupe, session.rootId)).toMatchObject([{ onCancel: { failure: { code: 'poison' } } }])
    expect(seen).toEqual([])
    await settled(troupe)
  })

  const faults: [what: string, onCancel: Undo, message: string][] = [
    ['that throws', () => Promise.reject(new TerminalError('the hotel does not answer')), 'the hotel does not answer'],
    [
      'that spawns',
      (self) => (self as never as { spawn: (kind: string) => void }).spawn('sink'),
      'self.spawn cannot be used in onCancel',
    ],
    [
      'that replies',
      (self) => (self as never as { reply: (value: unknown) => void }).reply(1),
      'self.reply cannot be used in onCancel',
    ],
    [
      'that asks',
      (self) => (self as never as { ask: (text: string) => void }).ask('May I?'),
      'self.ask cannot be used in onCancel',
    ],
    ['that takes too long', () => new Promise(() => {}), 'took longer than 50 ms'],
    ['that sends to nobody', (self) => self.send('01890000-0000-8000-8000-000000000000', 1), 'is not known'],
  ]
  test.each(faults)(
    'an onCancel that %s fails, which is recorded and changes nothing',
    async (_what, onCancel, message) => {
      const begun: string[] = []
      const both: Undo = (self, reason) => {
        self.setState({ booked: 'must not be recorded' })
        return onCancel(self, reason)
      }
      await using troupe = await TestTroupe.start({ workers: { kind: booking(begun, both, 50), sink } })
      const session = await troupe.create('kind', 'hotel', { keepOpen: true })
      await waitUntil('it waits', () => begun.length === 1)
      await session.root.cancelRun('enough')
      expect(await session.result({ run: 1 })).toEqual({ status: 'cancelled', run: 1 })
      const [entry] = await cancelledOf(troupe, session.rootId)
      expect(entry?.onCancel).toMatchObject({
        reason: 'enough',
        failure: { message: expect.stringContaining(message) },
      })
      const [root] = (await session.report()).workers
      expect(root).toMatchObject({ lastFailure: null })
      await settled(troupe)
    },
  )
})

describe('onCancel of an agent', () => {
  test('onCancel of an agent is called once, after its tool has ended, and its run ends as cancelled', async () => {
    const seen: string[] = []
    const tool = defineTool({
      name: 'charge',
      description: 'charges',
      input: z.object({}),
      effect: 'idempotent',
      async run(_input, { signal, idempotencyKey }) {
        seen.push(idempotencyKey)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return 'aborted'
      },
    })
    const onCancel = (self: AgentCancelSelf, reason: string) => {
      seen.push(`${self.id}/${self.run}/ ${reason}`)
      expect(() => (self as never as { setState: (value: unknown) => void }).setState({})).toThrow('onCancel')
    }
    const agent = defineWorker({
      instructions: 'You charge.',
      model: scriptedModel('scripted/charge', [call('charge', {}), say('done')]),
      tools: [tool],
      onCancel,
    })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await waitUntil('its tool runs', () => seen.length === 1)
    await session.cancel('no money')
    expect(await session.result()).toMatchObject({ status: 'cancelled' })
    const prefix = `${session.rootId}/1/`
    expect(seen).toEqual([expect.stringMatching(new RegExp(`^${prefix}`)), `${prefix} no money`])
    expect(await cancelledOf(troupe, session.rootId)).toMatchObject([{ onCancel: { reason: 'no money' } }])
    expect((await cancelledOf(troupe, session.rootId))[0]?.onCancel).not.toHaveProperty('failure')
    await settled(troupe)
  })
})
