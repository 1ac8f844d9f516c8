/** Duty: scenes of whole sessions: many and large ones, their cancels, pauses, copies and pruning. */
import { randomUUID } from 'node:crypto'
import { type Scene, type Stage, text, until, wait } from './measure.ts'

const limits = { workers: 100_000, children: 1_000, mailbox: 100_000 }

/** A session whose root has spawned so many children of a kind, each with this input. */
async function family({ troupe }: Stage, kind: string, count: number, input: number) {
  const session = await troupe.sessions.create({ kind: 'parent', input: { kind, count, bytes: 1, input }, limits })
  await until(async () => (await troupe.workers.list({ sessionId: session.id, limit: 2_000 })).length > count)
  await wait(2_000 + 100 * Math.min(count, 30))
  return session
}

async function cancelled(stage: Stage, kind: string, count: number, input: number): Promise<void> {
  const session = await family(stage, kind, count, input)
  await session.cancel()
  await session.result()
}

/** The key of the record of this worker. */
async function recordKey({ redis }: Stage, id: string): Promise<string> {
  const [key] = await redis.keys(`*:w:${id}`)
  return String(key)
}

/** Puts so many further workers into a session by hand, since to spawn them would take minutes. Returns the tag of its keys. */
async function putWorkers(
  stage: Stage,
  session: { readonly id: string; readonly rootId: string },
  count: number,
  status: 'queued' | 'idle' | 'running',
): Promise<string> {
  const own = await recordKey(stage, session.rootId)
  const [tag, root] = own.split(':w:') as [string, string]
  const pipeline = stage.redis.pipeline()
  for (let index = 0; index < count; index++) {
    const id = `${root.slice(0, 24)}${index.toString(16).padStart(9, '0')}${root.slice(33)}`
    const record = { schema: '8', depth: '1', status, kind: 'sink', path1: `${root}:1`, call: index + 1 }
    pipeline.hset(`${tag}:w:${id}`, record).rpush(`${tag}:s:${session.id}:workers`, id)
    if (status === 'queued') pipeline.zadd(`${tag}:run:default`, index + 10, id)
    if (status === 'running')
      pipeline.hset(`${tag}:w:${id}`, 'token', '1:x').zadd(`${tag}:leases`, Date.now() + 15_000, id)
  }
  pipeline.hset(own, 'workers', String(count + 1))
  await pipeline.exec()
  return tag
}

/** A session that has ended, with so many workers; and the tag of its keys. */
async function endedSession(stage: Stage, workers: number) {
  const session = await stage.troupe.sessions.create({ kind: 'echo', input: 1, limits })
  await session.result()
  return { session, tag: await putWorkers(stage, session, workers, 'idle') }
}

export const sessionScenes: Readonly<Record<string, Scene>> = {
  cancel: {
    figure: 'a cancel of 500 children that wait',
    async act(stage) {
      await cancelled(stage, 'sleeper', 500, 1)
      await stage.troupe.sessions.prune({ olderThanMs: 0 })
    },
  },
  cancelledAsks: {
    figure: 'a cancel of 26 workers with 1 000 open asks each, and an audit of them before it',
    async act(stage) {
      const session = await family(stage, 'asker', 26, 1_000)
      await stage.troupe.audit()
      await session.cancel()
      await session.result()
    },
  },
  cancelledTimers: {
    figure: 'a cancel of 26 workers with 1 490 timers each',
    act: (stage) => cancelled(stage, 'clock', 26, 1_490),
  },
  inbox: {
    figure: 'pruning a session that has asked 4 440 questions',
    async act({ troupe }) {
      const session = await troupe.sessions.create({ kind: 'asker', input: 740, keepOpen: true })
      for (let run = 1; run <= 6; run++) {
        if (run > 1) await session.root.send(740)
        await wait(1_000)
        await session.root.cancelRun()
        await session.result({ run })
      }
      await session.cancel()
      await session.result()
      await troupe.sessions.prune({ olderThanMs: 0 })
    },
  },
  media: {
    figure: 'a first message with 500 images of 2 KB',
    async act({ troupe }) {
      const head = [137, 80, 78, 71, 13, 10, 26, 10]
      const image = (index: number) => {
        const data = new Uint8Array(2_000).fill(index % 256)
        data.set([...head, index >> 8, index & 255])
        return { type: 'image' as const, mediaType: 'image/png', data }
      }
      await troupe.sessions.create({ kind: 'sink', input: Array.from({ length: 500 }, (_, index) => image(index)) })
    },
  },
  blobs: {
    figure: 'an audit and the pruning of a session with 3 000 blobs',
    async act(stage) {
      const { troupe, redis } = stage
      const session = await troupe.sessions.create({ kind: 'echo', input: 1 })
      await session.result()
      const base = (await recordKey(stage, session.rootId)).replace(/:w:.*/, `:s:${session.id}`)
      const pipeline = redis.pipeline()
      const ids = Array.from({ length: 3_000 }, (_, index) => `${'b'.repeat(18)}${index}`)
      for (const id of ids) pipeline.set(`${base}:blob:${id}`, text(1_000)).hset(`${base}:blobs`, id, '1000 text/plain')
      pipeline.hset(`${base}:blobs`, 'bytes', '3000000')
      await pipeline.exec()
      await troupe.audit()
      await troupe.sessions.prune({ olderThanMs: 0 })
    },
  },
  permissions: {
    figure: 'an audit of a session that keeps 5 000 permissions of 2 KB each, beside 100 pools',
    async act(stage) {
      const { troupe, redis } = stage
      const { session, tag } = await endedSession(stage, 200)
      const pipeline = redis.pipeline()
      for (let index = 0; index < 5_000; index++)
        pipeline.hset(`${tag}:s:${session.id}:permissions`, index.toString(16).padStart(40, '0'), text(2_000))
      for (let index = 0; index < 100; index++) pipeline.sadd(`${tag}:pools`, `pool-${index}`)
      await pipeline.exec()
      await troupe.audit()
    },
  },
  auditedPools: {
    figure: 'an audit of a session of 200 workers beside 1 000 pools that all have work',
    async act(stage) {
      const { troupe, redis } = stage
      const { tag } = await endedSession(stage, 200)
      const pipeline = redis.pipeline()
      for (let index = 0; index < 1_000; index++)
        pipeline.sadd(`${tag}:pools`, `pool-${index}`).zadd(`${tag}:run:pool-${index}`, 1, randomUUID())
      await pipeline.exec()
      await troupe.audit()
    },
  },
  many: {
    figure: '5 000 sessions in one call, and pruning them',
    async act({ troupe }) {
      await troupe.sessions.createMany(Array.from({ length: 5_000 }, () => ({ kind: 'echo', input: text(1_000) })))
      await until(async () => (await troupe.sessions.list({ state: 'active', limit: 1 })).length === 0)
      await troupe.sessions.prune({ olderThanMs: 0 })
    },
  },
  large: {
    figure: 'an input and a result of a megabyte, and an audit',
    async act({ troupe }) {
      const session = await troupe.sessions.create({ kind: 'echo', input: text(1_000_000) })
      await session.result()
      await troupe.audit()
    },
  },
  given: {
    figure: 'a session that begins with 50 000 messages',
    async act({ troupe }) {
      const content = [{ type: 'text' as const, text: text(500) }]
      const history = Array.from({ length: 50_000 }, (_, index) => ({
        type: 'user' as const,
        id: `message-${index}`,
        at: 1_700_000_000_000 + index,
        content,
      }))
      await troupe.sessions.create({ kind: 'nobody', keepOpen: true, history })
    },
  },
  paused: {
    figure: 'a pause and a resume of a session with 5 000 queued workers',
    node: { concurrency: 16 },
    async act(stage) {
      const { troupe, redis } = stage
      const made = await troupe.sessions.createMany(Array.from({ length: 16 }, () => ({ kind: 'busy', input: null })))
      await wait(500)
      const session = await troupe.sessions.create({ kind: 'sink', input: 1, limits, keepOpen: true })
      const tag = await putWorkers(stage, session, 5_000, 'queued')
      await session.pause()
      for (const one of made) if (one.status === 'fulfilled') await one.value.cancel()
      await until(async () => (await redis.zcard(`${tag}:s:${session.id}:held`)) >= 5_000)
      await session.resume()
      await wait(3_000)
    },
  },
  pausedTurns: {
    figure: 'a pause of a session of which 2 000 workers run',
    async act(stage) {
      const session = await stage.troupe.sessions.create({ kind: 'sink', input: 1, limits, keepOpen: true })
      await session.result()
      await putWorkers(stage, session, 2_000, 'running')
      // It would wait until the leases have ended.
      await Promise.race([session.pause(), wait(3_000)])
      await session.resume()
    },
  },
  fork: {
    figure: 'a copy of a session of 497 workers that wait',
    async act(stage) {
      const { troupe } = stage
      const session = await troupe.sessions.create({
        kind: 'parent',
        input: { kind: 'grand', count: 4, bytes: 1, input: 123 },
        limits,
      })
      await until(async () => (await troupe.workers.list({ sessionId: session.id, limit: 2_100 })).length >= 497)
      await wait(2_000)
      await session.fork()
      await wait(1_000)
    },
  },
  forkAsks: {
    figure: 'a copy of a session of 2 workers with 700 open asks each',
    async act(stage) {
      const session = await family(stage, 'asker', 2, 700)
      await session.fork()
      await wait(1_000)
    },
  },
  ended: {
    figure: 'a limit for a session that has ended and had 10 000 workers, and an audit of it',
    async act(stage) {
      const { troupe } = stage
      const { session } = await endedSession(stage, 10_000)
      await session.limit({ tokens: 5 }).catch(() => {})
      await troupe.audit()
    },
  },
}
