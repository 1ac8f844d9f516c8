/** Limits: what exceeds one is refused with a typed error, and nothing accepted is lost. */
import { describe, expect, test } from 'vitest'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import type { RuntimeError } from '../../../src/core/errors.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const spawner = defineWorker<number>({
  initial: 0,
  receive(message, self) {
    if (message.kind === 'input') {
      const { children, detached } = message.value as { children: number; detached?: boolean }
      for (let child = 0; child < children; child++) self.spawn('echo', child, { detached: detached ?? false })
    } else {
      self.setState(self.state + 1)
      if (self.openChildren === 0) self.reply(self.state)
    }
  },
})
const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const deep = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.spawn('deep', null)
    else if (message.kind === 'result' && message.status === 'failed') self.fail(message.failure?.message ?? '')
    else self.reply(message.value)
  },
})

describe('limits', () => {
  test('children: as many as allowed are spawned; one more fails the run and none is created', async () => {
    await using troupe = await TestTroupe.start({ workers: { spawner, echo } })
    expect(await troupe.run('spawner', { children: 3 }, { limits: { children: 3 } })).toMatchObject({ value: 3 })
    const session = await troupe.create('spawner', { children: 4 }, { limits: { children: 3 } })
    expect(await session.result()).toMatchObject({
      status: 'failed',
      failure: {
        code: 'children_exceeded',
        attempt: 1,
        message: expect.stringMatching(
          /allows a worker 3 children whose results it still awaits, .*\(childrenAtOnce of its kind\); a new session may get a higher limits\.children\.$/,
        ),
      },
    })
    expect((await session.report()).workers).toHaveLength(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('children: the refusal comes at the call, so that a handler may go on without the child; detached ones do not count', async () => {
    const open: number[] = []
    const careful = defineWorker<string>({
      initial: '',
      receive(message, self) {
        if (message.kind === 'input') {
          self.spawn('echo', 'apart', { detached: true })
          for (const child of [1, 2]) self.spawn('echo', child)
          self.spawn('echo', 'apart as well', { detached: true })
          try {
            self.spawn('echo', 3)
          } catch (error) {
            self.setState((error as RuntimeError).code)
          }
        }
        open.push(self.openChildren)
        if (self.openChildren === 0) self.reply(self.state)
      },
    })
    await using troupe = await TestTroupe.start({ workers: { careful, echo } })
    const session = await troupe.create('careful', null, { limits: { children: 2 } })
    expect(await session.result()).toMatchObject({ status: 'completed', value: 'children_exceeded' })
    expect(open).toEqual([2, 1, 0])
    expect((await session.report()).workers).toHaveLength(5)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('depth: the worker at the limit may not spawn', async () => {
    await using troupe = await TestTroupe.start({ workers: { deep } })
    const session = await troupe.create('deep', null, { limits: { depth: 2 } })
    expect(await session.result()).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringMatching(/depth 2 .* A new session may get a higher limits\.depth\.$/) },
    })
    expect((await session.report()).workers.map(({ depth }) => depth)).toEqual([0, 1, 2])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('workers of a session: exactly as many as allowed are created, even if many ask at once', async () => {
    await using troupe = await TestTroupe.start({ workers: { spawner, echo, deep: spawner } })
    const results = await troupe.run('spawner', { children: 9 }, { limits: { workers: 10 } })
    expect(results).toMatchObject({ status: 'completed', value: 9 })
    const session = await troupe.create('spawner', { children: 10 }, { limits: { workers: 10 } })
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'workers_exceeded' } })
    const { session: report, workers } = await session.report()
    expect(report.usage.workers).toBe(1)
    expect(workers).toHaveLength(1)
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a run that failed at a limit of the store shows its last failure', async () => {
    await using troupe = await TestTroupe.start({ workers: { spawner, echo } })
    const session = await troupe.create('spawner', { children: 5, detached: true }, { limits: { workers: 3 } })
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'workers_exceeded' } })
    await expectInvariants(troupe.redis, troupe.namespace)
    expect(await session.root.report()).toMatchObject({
      lifecycle: 'idleFailed',
      lastFailure: { code: 'workers_exceeded' },
    })
  })

  test('mailbox: a full one refuses sends from outside, and its worker receives all that it accepted', async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        slow: defineWorker({
          async receive(message, self) {
            begun.resolve()
            await gate.promise
            self.reply(message.value)
          },
        }),
      },
    })
    const session = await troupe.create('slow', 0, { limits: { mailbox: 3 } })
    await begun.promise
    const sends = await Promise.allSettled([1, 2, 3, 4].map((number) => session.root.send(number)))
    const refused = sends.flatMap((send) => (send.status === 'rejected' ? [send.reason] : []))
    expect(refused).toMatchObject([{ code: 'mailbox_full' }, { code: 'mailbox_full' }])
    expect(refused[0].message).toContain(`${session.rootId} is full (3 messages)`)
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed', run: 3 })
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('mailbox: a worker that sends more than fits fails, and none of that step arrives', async () => {
    const gate = Promise.withResolvers<void>()
    await using troupe = await TestTroupe.start({
      workers: {
        flooder: defineWorker({
          receive(message, self) {
            const { to, count } = message.value as { to: string; count: number }
            for (let number = 0; number < count; number++) self.send(to, number)
          },
        }),
        slow: defineWorker({ receive: () => gate.promise }),
      },
    })
    const target = await troupe.create('slow', 0, { limits: { mailbox: 5 } })
    await waitUntil('it runs', async () => (await target.root.report()).status === 'running')
    const flooder = await troupe.create('flooder', { to: target.rootId, count: 20 })
    expect(await flooder.result()).toMatchObject({
      status: 'failed',
      failure: { code: 'mailbox_full', message: expect.stringContaining(target.rootId) },
    })
    expect((await target.root.report()).mailbox.pending).toBeLessThanOrEqual(5)
    gate.resolve()
    await target.result()
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  const parts: [string, number, (self: Self, number: number) => unknown][] = [
    ['spawned', 500, (self) => self.spawn('nobody', null, { detached: true })],
    ['sent', 300, (self, number) => self.send(self.id, number)],
    ['timers', 1_500, (self, number) => self.after(3_600_000, number)],
  ]
  test.each(parts)(
    'parts of a step: as many as allowed are %s, %i; one more is refused at the call',
    async (...part) => {
      const [what, most, ask] = part
      const many = defineWorker({
        receive(message, self) {
          for (let number = 0; number < Number((message.value as { count?: number }).count); number++) ask(self, number)
        },
      })
      await using troupe = await TestTroupe.start({ workers: { many } })
      const limits = { workers: 2 * most, mailbox: 2 * most }
      const session = await troupe.create('many', { count: most }, { limits })
      const [entry] = await waitUntil('it is recorded', async () => {
        const history = await troupe.history(session.rootId)
        return history.length > 0 && history
      })
      expect((entry as unknown as Record<string, unknown[]>)[what]).toHaveLength(most)
      expect(await troupe.run('many', { count: most + 1 }, { limits })).toMatchObject({
        status: 'failed',
        failure: {
          code: 'step_too_big',
          attempt: 1,
          message: expect.stringMatching(
            /^self\.\w+ was called when many had already made \d+ spawns, .* One receive may make 500 spawns, 300 sends, 750 asks or 1500 timers, or pass 1835008 bytes at most,/,
          ),
        },
      })
    },
  )

  test('open timers and asks: one run may have a limited number at once, however many steps set them', async () => {
    const waiting = defineWorker({
      receive(message, self) {
        for (let number = 0; number < 700; number++) self.after(3_600_000, null)
        if (message.kind === 'input') for (let number = 0; number < 100; number++) self.ask('May I?')
        self.after(0, 'more')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { waiting } })
    expect(await troupe.run('waiting')).toMatchObject({
      status: 'failed',
      failure: { code: 'signals_exceeded', message: expect.stringContaining('had 1500 open timers and asks') },
    })
  })

  test('parts of a step: a part that costs Redis more counts more, and a mix has one limit', async () => {
    const mixed = defineWorker({
      receive(message, self) {
        for (let number = 0; number < 150; number++) self.send(self.id, number)
        for (let number = 0; number < 750; number++) self.after(3_600_000, number)
        if (message.value === 'one more') self.ask('May I?')
        self.reply('done')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { mixed } })
    expect(await troupe.run('mixed', 'as many', { limits: { mailbox: 1 } })).toMatchObject({
      failure: { code: 'mailbox_full' },
    })
    expect(await troupe.run('mixed', 'one more')).toMatchObject({
      failure: {
        code: 'step_too_big',
        message: expect.stringContaining('had already made 0 spawns, 150 sends, 0 asks and 750 timers'),
      },
    })
  })

  test('bytes of a step: everything that a receive passes counts, of several states only the last, the reply of a child more than once, and some of what it receives', async () => {
    const half = 'ä'.repeat(250_000)
    const many = defineWorker<string, { given: string; timer: number }>({
      initial: '',
      receive(message, self) {
        if (message.kind !== 'input') return self.reply(null)
        const { value } = message
        self.setState(half)
        self.setState(half)
        self.after(3_600_000, 'x'.repeat(value.timer))
        self.reply(half)
      },
    })
    const parent = defineWorker<null, { given: string; timer: number }>({
      spawns: ['many', 'echo'],
      receive(message, self) {
        if (message.kind === 'input' && message.value.timer === 0) self.spawn('echo', message.value.given)
        else if (message.kind === 'input') self.spawn('many', message.value)
        else if (message.kind === 'result' && message.failure) self.reply(message.failure)
        else self.reply('it fits')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { many, parent, echo } })
    const run = (kind: string, timer: number, given = half) => troupe.run(kind, { given, timer })
    expect(await run('many', 600_000)).toMatchObject({ status: 'completed' })
    expect(await run('parent', 380_000)).toMatchObject({ value: 'it fits' })
    expect(await run('parent', 450_000)).toMatchObject({
      value: {
        code: 'step_too_big',
        attempt: 1,
        message: expect.stringMatching(
          /^self.reply was called when many had already made .*, and passed 950004 bytes \(this call adds 750003\) beside 183500 bytes of its message\. One receive may .* pass 1835008 bytes/,
        ),
      },
    })
    expect(await run('parent', 450_000, '')).toMatchObject({ value: 'it fits' })
    // Whatever reaches a handler, it can answer with as much.
    expect(await run('parent', 0, 'x'.repeat(1_048_000))).toMatchObject({ value: 'it fits' })
  })

  test('message size: a message that is too large is refused at the call, from outside and from within (SELF-1)', async () => {
    const big = 'x'.repeat(1_048_577)
    await using troupe = await TestTroupe.start({
      workers: {
        echo,
        big: defineWorker({
          receive(message, self) {
            if (message.value === 'reply') self.reply(big)
            if (message.value === 'state') self.setState(big)
            if (message.value === 'send') self.send(self.id, big)
            if (message.value === 'spawn') self.spawn('echo', big)
            if (message.value === 'after') self.after(0, big)
          },
        }),
      },
    })
    await expect(troupe.create('echo', big)).rejects.toMatchObject({ code: 'message_too_big' })
    const session = await troupe.create('big', 'reply', { keepOpen: true })
    await expect(session.root.send(big)).rejects.toMatchObject({ code: 'message_too_big' })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed', failure: { code: 'message_too_big' } })
    for (const [index, call] of ['state', 'send', 'spawn', 'after'].entries()) {
      await session.root.send(call)
      expect(await session.result({ run: index + 2 })).toMatchObject({
        status: 'failed',
        failure: { code: 'message_too_big', attempt: 1 },
      })
    }
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('a message of exactly the largest size goes through', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    const largest = 'x'.repeat(1_048_574)
    const result = await troupe.run('echo', largest)
    expect(result.status === 'completed' && result.value === largest).toBe(true)
  })
})
