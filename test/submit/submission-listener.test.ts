/** What a listener of the queue "submit" does with each outcome of a submission, and when it stops. */
import { Job } from 'bullmq'
import { describe, expect, test, vi } from 'vitest'
import { type LimitCode, LimitError, TransientError } from '../../src/core/errors.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { SubmissionListener, type Submit, type Submitted } from '../../src/submit/submission-queue.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Producer } from './support/producer.ts'

describe('a listener', () => {
  /** A listener of a queue of its own, which submits as the test says. */
  async function listening(submit: Submit, given?: TestTroupe) {
    const told: unknown[] = []
    const troupe = given ?? (await TestTroupe.connect())
    const connection = openRedis(troupe.redisUrl)
    const prefix = `{${troupe.namespace}.0}:q`
    const log = { debug() {}, warn: (what: string, fields?: object) => void told.push([what, fields]) }
    const listener = new SubmissionListener(connection, prefix, submit, log)
    await listener.ready()
    const producer = new Producer(troupe)
    return {
      told,
      listener,
      connection,
      producer,
      async [Symbol.asyncDispose]() {
        connection.disconnect()
        await producer[Symbol.asyncDispose]()
        if (given === undefined) await troupe[Symbol.asyncDispose]()
      },
    }
  }
  const made = { sessionId: 'a session', workerId: 'its root' }

  test('a listener tries a job whose mailbox is full as often as its producer asked for, and no other', async () => {
    const attempts: Record<string, number> = {}
    await using place = await listening(async (data) => {
      const { code, fails } = data as { code: LimitCode; fails: number }
      attempts[code] = (attempts[code] ?? 0) + 1
      if (attempts[code] <= fails) throw new LimitError(code, 'not now')
      return made
    })
    const { queue } = place.producer
    const full = await queue.add('x', { code: 'mailbox_full', fails: 2 }, { attempts: 3, backoff: 1 })
    const deep = await queue.add('x', { code: 'message_too_big', fails: 2 }, { attempts: 3 })
    expect(await place.producer.completed(full)).toEqual(made)
    await waitUntil('the other has failed', () => deep.isFailed())
    expect(attempts).toEqual({ mailbox_full: 3, message_too_big: 1 })
  })

  test.each([
    ['no back-off', undefined],
    ['a back-off that only its producer knows', { type: 'lunar' }],
    ['a back-off that only its producer knows, with a delay', { type: 'lunar', delay: 1 }],
    ['a back-off without a delay', { type: 'fixed' }],
    ['a back-off that is none', 'soon' as never],
  ])('a listener lets a job with %s wait a while for room in a mailbox', async (_, backoff) => {
    let attempts = 0
    await using place = await listening(async () => {
      attempts++
      if (attempts < 2) throw new LimitError('mailbox_full', 'not now')
      return made
    })
    const job = await place.producer.queue.add('x', {}, { attempts: 2, ...(backoff && { backoff }) })
    await waitUntil('it waits for its next try', async () => (await job.getState()) === 'delayed')
    expect(await place.producer.completed(job)).toEqual(made)
  })

  test('a listener tries a job that cannot be stored now again, under the same key, as often as it takes (SUBMIT-3)', async () => {
    const keys: string[] = []
    await using place = await listening(async (_, key) => {
      keys.push(key)
      if (keys.length < 3) throw new TransientError('Redis is busy')
      return made
    })
    const job = await place.producer.queue.add('x', {}, { jobId: 'patient', attempts: 1 })
    await waitUntil('it waits for its next try', async () => (await job.getState()) === 'delayed')
    expect(await place.producer.completed(job)).toEqual(made)
    expect(keys).toEqual(['submit:patient', 'submit:patient', 'submit:patient'])
    expect(place.told).toEqual([])
    await place.listener.stop()
  })

  test('a listener puts a warning into the return value of the job and into the log', async () => {
    const warning = 'it was used for something else'
    await using place = await listening(async () => ({ ...made, warning }))
    const job = await place.producer.queue.add('x', {}, { jobId: 'twice' })
    expect(await place.producer.completed(job)).toEqual({ ...made, warning })
    expect(place.told).toEqual([['a submitted job was accepted with a warning', { jobId: 'twice', warning }]])
  })

  test('a listener leaves a job to the next delivery of BullMQ when it cannot even be delayed (SUBMIT-3)', async () => {
    const full = new Error("OOM command not allowed when used memory > 'maxmemory'.")
    const delaying = vi.spyOn(Job.prototype, 'moveToDelayed').mockRejectedValueOnce(full)
    await using place = await listening(() => Promise.reject(new TransientError('Redis is full')))
    const job = await place.producer.queue.add('x', {}, { attempts: 1 })
    await waitUntil('BullMQ was asked to delay it', () => delaying.mock.calls.length > 0)
    await place.listener.stop()
    // Its lock will end, and then BullMQ gives it to a node again.
    expect(await job.getState()).toBe('active')
    expect(place.told).toMatchObject([['a submitted job could not be delayed; BullMQ gives it to a node again', {}]])
    delaying.mockRestore()
  })

  test('a listener never fails a processed job because Redis refuses to record its completion (SUBMIT-5)', async () => {
    const refusal = Object.assign(new Error("READONLY You can't write against a read only replica."), {
      name: 'ReplyError',
    })
    const completing = vi.spyOn(Job.prototype, 'moveToCompleted').mockRejectedValueOnce(refusal)
    await using place = await listening(() => Promise.resolve(made))
    const job = await place.producer.queue.add('x', {}, { attempts: 1 })
    await waitUntil('it is told', () => place.told.length > 0)
    await place.listener.stop()
    completing.mockRestore()
    expect(place.told).toEqual([
      [
        'a submitted job could not be recorded as done; BullMQ gives it to a node again',
        { jobId: job.id, error: String(refusal) },
      ],
    ])
    expect(await job.getState()).toBe('active')
  })

  test('a listener lets a job fail when BullMQ itself refuses to complete it, for example because of a new child job (SUBMIT-5)', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using place = await listening(async () => {
      begun.resolve()
      await gate.promise
      return made
    })
    const { queue } = place.producer
    const job = await queue.add('x', {})
    await begun.promise
    await queue.add('a child', {}, { parent: { id: String(job.id), queue: queue.qualifiedName }, delay: 600_000 })
    gate.resolve()
    await waitUntil('the job has failed', async () => (await job.getState()) === 'failed')
    expect((await queue.getJob(String(job.id)))?.failedReason).toContain('has pending dependencies')
    expect(place.told).toEqual([])
    await place.listener.stop()
  })

  test('a listener warns that a repeated job of an older BullMQ will not come again', async () => {
    await using troupe = await TestTroupe.connect()
    await using producer = new Producer(troupe)
    const job = await producer.queue.add('x', {})
    await troupe.redis.hset(producer.queue.toKey(job.id as string), 'rjk', 'x::::700')
    await using place = await listening(() => Promise.resolve(made), troupe)
    expect(await producer.completed(job)).toEqual(made)
    const error = expect.stringContaining('Job Schedulers')
    expect(place.told).toEqual([
      ['a repeatable job of the old form is repeated no more: use a job scheduler', { error }],
    ])
    await place.listener.stop()
  })

  test('a listener fails a job on which it throws, with the error as reason', async () => {
    await using place = await listening(() => Promise.reject(new RangeError('a slip')))
    const job = await place.producer.queue.add('x', {}, { attempts: 5 })
    await waitUntil('the job has failed', async () => (await job.getState()) === 'failed')
    const reason = 'RangeError: a slip'
    expect((await place.producer.queue.getJob(job.id as string))?.failedReason).toBe(reason)
    expect(place.told).toEqual([['a submitted job was refused', { jobId: job.id, reason }]])
    await place.listener.stop()
  })

  test('a listener that stops waits for the job it works on', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using place = await listening(async () => {
      begun.resolve()
      await gate.promise
      return made
    })
    const job = await place.producer.queue.add('x', {})
    await begun.promise
    let isStopped = false
    const stopped = place.listener.stop().then(() => {
      isStopped = true
    })
    expect(await job.getState()).toBe('active')
    expect(isStopped).toBe(false)
    gate.resolve()
    await stopped
    expect(await job.getState()).toBe('completed')
  })

  test('a listener that stops while Redis is away waits for nothing', async () => {
    const [begun, never] = [Promise.withResolvers<void>(), Promise.withResolvers<Submitted>()]
    await using place = await listening(() => {
      begun.resolve()
      return never.promise
    })
    await place.producer.queue.add('x', {})
    await begun.promise
    place.connection.disconnect()
    await waitUntil('the connection is away', () => place.connection.status === 'end')
    // The time that it gives the job in hand never passes.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      await expect(place.listener.stop()).resolves.toBeUndefined()
    } finally {
      vi.useRealTimers()
    }
  })
})
