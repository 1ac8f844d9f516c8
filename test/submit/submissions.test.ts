/** Background jobs from any BullMQ producer: each becomes one session or one message, whatever is done with the job. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Producer } from './support/producer.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

describe('a job of the queue "submit"', () => {
  test('a submission becomes a session; its return value names session and root worker', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const { sessionId, workerId } = await producer.submit({
      kind: 'echo',
      input: { a: 1 },
      name: 'from afar',
      limits: { depth: 1 },
      permissions: { tools: ['look'] },
    })
    const session = troupe.client.sessions.get(sessionId)
    expect(await session.result()).toMatchObject({ status: 'completed', value: { a: 1 } })
    expect(session.rootId).toBe(workerId)
    const report = await session.report()
    expect(report.session).toMatchObject({ name: 'from afar', limits: { depth: 1 } })
    expect(report.workers).toMatchObject([{ permissions: { tools: ['look'] } }])
  })

  test('a submission becomes a session or a message in any partition', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 3 })
    await troupe.startNode({ echo })
    await using producer = new Producer(troupe)
    const found = new Set<string>()
    await waitUntil('sessions have come to all of them', async () => {
      const made = await producer.submit({ kind: 'echo', input: 1, keepOpen: true })
      const session = troupe.client.sessions.get(made.sessionId)
      expect(await session.result({ run: 1 })).toMatchObject({ value: 1 })
      expect(await producer.submit({ worker: made.workerId, input: 2 })).toEqual(made)
      expect(await session.result({ run: 2 })).toMatchObject({ value: 2 })
      return found.add(made.sessionId.slice(-3)).size === 3
    })
  })

  test('a submission is counted by health once it is due, until a node takes it', async () => {
    await using troupe = await TestTroupe.connect()
    await using producer = new Producer(troupe)
    const data = { kind: 'echo', input: 1 }
    const submitted = async () => (await troupe.client.health()).submitted
    expect(await submitted()).toBe(0)
    await producer.queue.add('waits', data)
    await producer.queue.add('is preferred', data, { priority: 5 })
    await producer.queue.add('is due later', data, { delay: 3_600_000 })
    expect(await submitted()).toBe(2)
    await producer.queue.add('is due', data, { delay: 1 })
    await waitUntil('it is due', async () => (await submitted()) === 3)
    await troupe.startNode({ echo })
    await waitUntil('all that are due are taken', async () => (await submitted()) === 0)
  })

  test('a submission in a partition other than the first is taken by no node, and health reports it', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 3 })
    await troupe.startNode({ echo })
    const prefixOf = (partition: number) => partitionKeys(tagOf(troupe.namespace, partition)).queuePrefix
    const seen = async () => {
      const { submitted, submitPrefix, misplaced } = await troupe.client.health()
      return { submitted, submitPrefix, misplaced }
    }
    expect(await seen()).toEqual({ submitted: 0, submitPrefix: prefixOf(0), misplaced: [] })
    await using producer = new Producer(troupe, 2)
    await producer.queue.add('misplaced', { kind: 'echo', input: 1 })
    expect(await seen()).toMatchObject({ submitted: 0, misplaced: [{ prefix: prefixOf(2), jobs: 1 }] })
  })

  test('a submission is counted by health while its queue is paused, also when an older BullMQ moved it to another list', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const seen = async () => {
      const { submitted, submitIsPaused } = await troupe.client.health()
      return { submitted, submitIsPaused }
    }
    expect(await seen()).toEqual({ submitted: 0, submitIsPaused: false })
    await producer.queue.pause()
    const job = await producer.queue.add('held back', { kind: 'echo', input: 1 })
    expect(await seen()).toEqual({ submitted: 1, submitIsPaused: true })
    await troupe.redis.rename(producer.queue.toKey('wait'), producer.queue.toKey('paused'))
    expect(await seen()).toEqual({ submitted: 1, submitIsPaused: true })
    await producer.queue.resume()
    await producer.completed(job)
    expect(await seen()).toEqual({ submitted: 0, submitIsPaused: false })
  })

  test('a submission with a worker becomes a message to it', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const session = await troupe.create('echo', 1, { keepOpen: true })
    await session.result()
    expect(await producer.submit({ worker: session.rootId, input: 'more' })).toEqual({
      sessionId: session.id,
      workerId: session.rootId,
    })
    expect(await session.result({ run: 2 })).toMatchObject({ value: 'more' })
  })

  test('a submission may be delayed, prioritised, added in bulk, or made by a job scheduler', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const made = await Promise.all([
      producer.submit({ kind: 'echo', input: 'delayed' }, { delay: 200 }),
      producer.submit({ kind: 'echo', input: 'prioritised' }, { priority: 5 }),
    ])
    for (const { sessionId } of made)
      expect(await troupe.client.sessions.get(sessionId).result()).toMatchObject({ status: 'completed' })
    await producer.queue.addBulk([1, 2, 3].map((number) => ({ name: 'x', data: { kind: 'echo', input: number } })))
    await producer.queue.upsertJobScheduler(
      'often',
      { every: 300 },
      { name: 'x', data: { kind: 'echo', input: 'tick' } },
    )
    await waitUntil('all have become sessions, the scheduled ones at least twice', async () => {
      return (await troupe.client.sessions.list()).length >= 7
    })
    await producer.queue.removeJobScheduler('often')
  })

  test('a submission that is delivered twice becomes one session (SUBMIT-1)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const first = await producer.submit({ kind: 'echo', input: 1 }, { jobId: 'order-1' })
    const counted = await producer.queue.add('x', { kind: 'echo', input: 2 })
    const second = await producer.completed(counted)
    // The same id once more, as a producer that was not told of its success would add it.
    await (await producer.queue.getJob('order-1'))?.remove()
    expect(await producer.submit({ kind: 'echo', input: 1 }, { jobId: 'order-1' })).toEqual(first)
    // The same job once more, as BullMQ delivers one whose worker died before it said so.
    await counted.retry('completed')
    expect(await producer.completed(counted)).toEqual(second)
    expect(await troupe.client.sessions.list()).toHaveLength(2)
  })

  test('a submission with the id of an earlier job and other data gets the earlier session, with a warning', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const order = { kind: 'echo', input: 1, limits: { depth: 1 }, permissions: { tools: ['a'] } }
    const first = await producer.submit(order, { jobId: 'order-1' })
    expect(first).toEqual({ sessionId: first.sessionId, workerId: first.workerId })
    const others = [
      { input: 2 },
      { keepOpen: true },
      { limits: { depth: 2 } },
      { permissions: { tools: ['b'] } },
      { name: 'x' },
    ]
    for (const other of others) {
      await (await producer.queue.getJob('order-1'))?.remove()
      const warning = expect.stringMatching(/^its idempotency key was used before, for something else: /)
      expect(await producer.submit({ ...order, ...other }, { jobId: 'order-1' })).toEqual({ ...first, warning })
    }
    expect(await troupe.client.sessions.list()).toHaveLength(1)
  })

  test('a submission with the id of an earlier message and other data gets a warning', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const { rootId } = await troupe.create('echo', 1, { keepOpen: true })
    const message = { worker: rootId, input: 'one' }
    const submit = async (data: unknown) => {
      await (await producer.queue.getJob('step-1'))?.remove()
      return producer.submit(data, { jobId: 'step-1' })
    }
    const first = await submit(message)
    expect(first).toEqual({ sessionId: first.sessionId, workerId: rootId })
    expect(await submit(message)).toEqual(first)
    const warning = expect.stringMatching(/^its idempotency key was used before, for something else: /)
    expect(await submit({ ...message, input: 'two' })).toEqual({ ...first, warning })
  })

  test('a submission of a kind that no node ever hosted is accepted with a warning', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const submitted = await producer.submit({ kind: 'ecko', input: 1 }, { jobId: 'order-1' })
    const warning = 'no node has ever hosted kind "ecko": the session waits until one does.'
    expect(submitted).toEqual({ sessionId: submitted.sessionId, workerId: submitted.workerId, warning })
  })

  test('a job whose number starts again from 1 in an obliterated queue becomes a new session (SUBMIT-1)', async () => {
    await using troupe = await TestTroupe.start({ workers: { echo } })
    await using producer = new Producer(troupe)
    const before = await producer.submit({ kind: 'echo', input: 'before' })
    await producer.queue.obliterate({ force: true })
    await producer.queue.resume()
    const after = await producer.submit({ kind: 'echo', input: 'after' })
    expect(after.sessionId).not.toBe(before.sessionId)
    expect(await troupe.client.sessions.get(after.sessionId).result()).toMatchObject({ value: 'after' })
  })

  test.each([
    ['no data', undefined, 'needs data'],
    ['null', null, 'needs data'],
    ['an empty list', [], 'needs data'],
    ['a list', ['echo', 1], 'needs data'],
    ['a text', 'echo', 'needs data'],
    ['no kind', { input: 1 }, 'kind'],
    ['a kind that is none', { kind: 'No Kind', input: 1 }, 'not a worker kind'],
    [
      'two fields of a wrong type',
      { kind: 7, name: 8, input: 1 },
      'not valid: kind: expected string, received number; name: expected string, received number. It takes',
    ],
    ['no input', { kind: 'echo' }, 'input'],
    ['an unknown field', { kind: 'echo', input: 1, colour: 'red' }, 'colour'],
    ['a limit that is none', { kind: 'echo', input: 1, limits: { height: 1 } }, 'height'],
    ['a name that is too long', { kind: 'echo', input: 1, name: 'x'.repeat(65) }, 'name'],
    ['a worker that is no id', { worker: 'bob', input: 1 }, 'not a worker id'],
    ['a worker that is not known', { worker: '01890000-0000-7000-8000-000000000000', input: 1 }, 'worker_not_found'],
    ['a worker of a partition that is not there', { worker: rootIdOf(newId(5)), input: 1 }, 'partition 5'],
    ['a worker of another namespace', { worker: '01890000-0000-8000-8000-000000000005', input: 1 }, 'worker_not_found'],
    ['an input that is too big', { kind: 'echo', input: 'x'.repeat(1_048_577) }, 'message_too_big'],
  ])(
    'a submission with %s fails at once with a clear reason and stays in the failed set (SUBMIT-2)',
    async (_, data, reason) => {
      await using troupe = await TestTroupe.start({ workers: { echo } })
      await using producer = new Producer(troupe)
      const job = await producer.queue.add('x', data, { attempts: 5 })
      await waitUntil('the job has failed', async () => (await job.getState()) === 'failed')
      const [failed] = await producer.queue.getFailed()
      expect(failed).toMatchObject({ id: job.id, attemptsMade: 1, failedReason: expect.stringContaining(reason) })
      expect(await troupe.client.sessions.list()).toEqual([])
    },
  )

  test('a submission whose data is not JSON fails with a clear reason and blocks no other job (SUBMIT-4)', async () => {
    await using troupe = await TestTroupe.connect()
    await using producer = new Producer(troupe)
    const job = await producer.queue.add('x', {}, { attempts: 5 })
    const next = await producer.queue.add('x', { kind: 'echo', input: 1 })
    const key = producer.queue.toKey(job.id as string)
    await troupe.redis.hset(key, 'data', '{"kind": "echo", "input": NaN}')
    await troupe.startNode({ echo })
    await waitUntil('the job has failed', async () => (await job.getState()) === 'failed')
    const [reason, made] = await troupe.redis.hmget(key, 'failedReason', 'atm')
    expect(reason).toMatch(/^input_invalid: the data of a submitted job is not JSON: .*NaN/)
    expect(made).toBe('1')
    await producer.completed(next)
    expect(await troupe.client.sessions.list()).toHaveLength(1)
  })

  test('a submission waits while no node runs', async () => {
    await using troupe = await TestTroupe.connect()
    await using producer = new Producer(troupe)
    const job = await producer.queue.add('x', { kind: 'echo', input: 'patient' })
    await troupe.startNode({ echo })
    const { sessionId } = await producer.completed(job)
    expect(await troupe.client.sessions.get(sessionId).result()).toMatchObject({ value: 'patient' })
  })
})
