/** Keys that are removed from Redis by hand, doubled or forged, and what audit must say of each. */
import type { Redis } from 'ioredis'
import type { partitionKeys, sessionKeys, workerKeys } from '../../../src/store/keys.ts'
import type { Cast, Scene } from './audit-scenes.ts'

export interface Hand {
  readonly redis: Redis
  readonly cast: Cast
  readonly keys: ReturnType<typeof partitionKeys>
  readonly of: (worker: string) => ReturnType<typeof workerKeys>
  readonly own: ReturnType<typeof sessionKeys>
}

export interface Seed {
  readonly what: string
  readonly scene: Scene
  readonly tamper: (hand: Hand) => Promise<unknown>
  readonly invariant: string
  /** The one that the finding names. */
  /** `orphan` stands for the first session or worker, when nothing knows its session. */
  readonly names: 'session' | 'root' | 'first' | 'second' | 'orphan'
  readonly words: RegExp
}

export async function removeAt(redis: Redis, list: string, at: number): Promise<void> {
  await redis.lset(list, at, 'gone')
  await redis.lrem(list, 1, 'gone')
}

export const seeds: readonly Seed[] = [
  {
    what: 'a mail that waited',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) => removeAt(redis, of(cast.root).inbox, 1),
    invariant: 'I1',
    names: 'root',
    words: /accepted 4 messages from outside, and 3/,
  },
  {
    what: 'a mail that waited, doubled',
    scene: 'backlog',
    tamper: async ({ redis, of, cast }) =>
      redis.rpush(of(cast.root).inbox, (await redis.lindex(of(cast.root).inbox, 0)) ?? ''),
    invariant: 'I2',
    names: 'root',
    words: /accepted 4 messages from outside, and 5/,
  },
  {
    what: 'the only mail of a queued worker',
    scene: 'queued',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).inbox),
    invariant: 'I1',
    names: 'root',
    words: /nothing is in its mailbox/,
  },
  {
    what: 'a mail that one worker sent to another',
    scene: 'chatty',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.first).inbox),
    invariant: 'I1',
    names: 'root',
    words: /sent 2 messages to \S+, of which 1 arrived there/,
  },
  {
    what: 'a mail that one worker sent to another, doubled',
    scene: 'chatty',
    tamper: async ({ redis, of, cast }) =>
      redis.rpush(of(cast.first).inbox, (await redis.lindex(of(cast.first).inbox, 0)) ?? ''),
    invariant: 'I2',
    names: 'root',
    words: /sent 2 messages to \S+, of which 3 arrived there/,
  },
  {
    what: "a child's result",
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).results),
    invariant: 'I8',
    names: 'root',
    words: /child \S+ has ended, and its result is not here/,
  },
  {
    what: "a child's result, doubled",
    scene: 'parentWithChildren',
    tamper: async ({ redis, of, cast }) =>
      redis.rpush(of(cast.root).results, (await redis.lindex(of(cast.root).results, 0)) ?? ''),
    invariant: 'I8',
    names: 'root',
    words: /has 2 results of its child/,
  },
  {
    what: "a child's large result",
    scene: 'parentWithLarge',
    tamper: ({ redis, of, cast }) => redis.hdel(of(cast.root).large, '2'),
    invariant: 'I1',
    names: 'root',
    words: /the result of its call 2 is lost: only the head is in its mailbox/,
  },
  {
    what: "a child's large result, beside a lane without its head",
    scene: 'parentWithLarge',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).large, '7', 'r'),
    invariant: 'I16',
    names: 'root',
    words: /a result of call "7" is in its key mail:large, and no head in its mailbox/,
  },
  {
    what: 'an entry of the run queue',
    scene: 'queued',
    tamper: ({ redis, keys, cast }) => redis.zrem(keys.run('unhosted'), cast.root),
    invariant: 'I7',
    names: 'root',
    words: /queued and not in the run queue of pool unhosted/,
  },
  {
    what: 'an entry of the run queue, doubled in another pool',
    scene: 'queued',
    tamper: ({ redis, keys, cast }) => redis.zadd(keys.run('default'), 1, cast.root),
    invariant: 'I7',
    names: 'root',
    words: /stands in the run queue of default/,
  },
  {
    what: 'a lease',
    scene: 'queued',
    async tamper({ redis, keys, of, cast }) {
      await redis.zrem(keys.run('unhosted'), cast.root)
      await redis.hset(of(cast.root).record, { status: 'running', token: '1:n' })
    },
    invariant: 'I7',
    names: 'root',
    words: /running and holds no lease/,
  },
  {
    what: 'a lease for one that rests',
    scene: 'chat',
    tamper: ({ redis, keys, cast }) => redis.zadd(keys.leases, 9e15, cast.root),
    invariant: 'I7',
    names: 'root',
    words: /idle and holds a lease/,
  },
  {
    what: 'a token',
    scene: 'chat',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'token', '9:x'),
    invariant: 'I7',
    names: 'root',
    words: /idle and has a token: 9:x/,
  },
  {
    what: 'a wake-up',
    scene: 'queued',
    async tamper({ redis, keys, of, cast }) {
      await redis.zrem(keys.run('unhosted'), cast.root)
      await redis.hset(of(cast.root).record, 'status', 'idle')
    },
    invariant: 'I7',
    names: 'root',
    words: /idle and 1 inputs wait/,
  },
  {
    what: 'an input in a history',
    scene: 'chat',
    tamper: ({ redis, of, cast }) => removeAt(redis, of(cast.root).log, 2),
    invariant: 'I1',
    names: 'root',
    words: /3 inputs were consumed, 2 are in its history, 0 dead; message inbox-1 is not there/,
  },
  {
    what: 'an input in a history, doubled',
    scene: 'chat',
    tamper: async ({ redis, of, cast }) =>
      redis.linsert(
        of(cast.root).log,
        'BEFORE',
        (await redis.lindex(of(cast.root).log, 3)) ?? '',
        (await redis.lindex(of(cast.root).log, 2)) ?? '',
      ),
    invariant: 'I2',
    names: 'root',
    words: /message inbox-1 is in its history twice/,
  },
  {
    what: 'the end of a run in a history',
    scene: 'chat',
    tamper: ({ redis, of, cast }) => removeAt(redis, of(cast.root).log, 1),
    invariant: 'I4',
    names: 'root',
    words: /an entry of run 2 at position 1, where run 1 is next/,
  },
  {
    what: 'the last entry of a history',
    scene: 'chat',
    tamper: ({ redis, of, cast }) => redis.rpop(of(cast.root).log),
    invariant: 'I4',
    names: 'root',
    words: /record is at run 4, its history at run 3/,
  },
  {
    what: 'a result in the history of a run that is over',
    scene: 'gatherer',
    tamper: ({ redis, of, cast }) => removeAt(redis, of(cast.root).log, 1),
    invariant: 'I8',
    names: 'session',
    words: /not in the history that received them, among 1 of: \S+ in run 1 of/,
  },
  {
    what: 'an older epoch in a history',
    scene: 'chat',
    tamper: async ({ redis, of, cast }) =>
      redis.lset(
        of(cast.root).log,
        4,
        // An epoch of 1 is not written; if an entry has two, the last one counts.
        ((await redis.lindex(of(cast.root).log, 4)) ?? '').replace(/\}$/, ',"epoch":0}'),
      ),
    invariant: 'I5',
    names: 'root',
    words: /epoch 0 after \d at position 4/,
  },
  {
    what: 'the time of a timer',
    scene: 'backlog',
    tamper: async ({ redis, keys, of, cast }) =>
      redis.zrem(keys.timers, `${cast.root}:${(await redis.hkeys(of(cast.root).timers))[0]}`),
    invariant: 'I9',
    names: 'root',
    words: /timer \S+ has a value and is never due/,
  },
  {
    what: 'the value of a timer',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).timers),
    invariant: 'I9',
    names: 'root',
    words: /1 of its signals are open, 0 are there/,
  },
  {
    what: 'the time of a retry',
    scene: 'flaky',
    tamper: ({ redis, keys, cast }) => redis.zrem(keys.timers, `${cast.root}:retry`),
    invariant: 'I9',
    names: 'root',
    words: /a retry that is never due/,
  },
  {
    what: "a child's record",
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.second).record),
    invariant: 'I8',
    names: 'session',
    words: /worker \S+, a child of \S+, is listed in its session and has no record/,
  },
  {
    what: 'a child in the list of its session',
    scene: 'parentWithChildren',
    tamper: ({ redis, own, cast }) => redis.lrem(own.workers, 1, cast.second),
    invariant: 'I16',
    names: 'session',
    words: /counts 3 workers and lists 2/,
  },
  {
    what: "a root's record",
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).record),
    invariant: 'I16',
    names: 'session',
    words: /is in the index and has no record/,
  },
  {
    what: 'a session in the index',
    scene: 'done',
    tamper: ({ redis, keys, cast }) => redis.zrem(keys.sessions, cast.session.id),
    invariant: 'I16',
    names: 'root',
    words: /which is not in the index/,
  },
  {
    what: 'a session in the index of ends',
    scene: 'done',
    tamper: ({ redis, keys, cast }) => redis.zrem(keys.ends, cast.session.id),
    invariant: 'I16',
    names: 'session',
    words: /has ended, and the index of ends does not have it/,
  },
  {
    what: 'the end of a session in the index of ends',
    scene: 'done',
    tamper: ({ redis, keys, cast }) => redis.zadd(keys.ends, -1, cast.session.id),
    invariant: 'I16',
    names: 'session',
    words: /has ended, and the index of ends lists it as one that goes on/,
  },
  {
    what: 'the result of a session',
    scene: 'chat',
    tamper: ({ redis, own }) => redis.hdel(own.runResults, '2'),
    invariant: 'I16',
    names: 'root',
    words: /run 2 is completed at position 3 .* says nothing/,
  },
  {
    what: 'the last failure',
    scene: 'broken',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).failure),
    invariant: 'I11',
    names: 'root',
    words: /says that it failed, its last failure is not there/,
  },
  {
    what: 'the workers that a cancel has still to end',
    scene: 'parentWithChildren',
    async tamper({ redis, keys, own, cast }) {
      await redis.sadd(own.cancelled, `${cast.root}:1`)
      await redis.sadd(keys.cancelling, cast.session.id)
    },
    invariant: 'I12',
    names: 'session',
    words: /is cancelled and has not ended, and no sweep looks for workers of session/,
  },
  {
    what: 'a cancel that nobody finishes',
    scene: 'backlog',
    tamper: ({ redis, own, cast }) => redis.sadd(own.cancelled, `${cast.root}:*`),
    invariant: 'I12',
    names: 'session',
    words: /no sweep knows of it/,
  },
  {
    what: 'a worker that lives on after a cancel',
    scene: 'cancelled',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.first).record, 'status', 'parked'),
    invariant: 'I12',
    names: 'session',
    words: /is cancelled and worker \S+ is parked/,
  },
  {
    what: 'permissions that is wider than its parent',
    scene: 'parentWithChildren',
    async tamper({ redis, of, cast }) {
      await redis.hset(of(cast.root).record, 'permissions', 'tools a\nfolder /x')
      await redis.hset(of(cast.first).record, 'permissions', 'tools a b\nfolder /x/y')
      await redis.hset(of(cast.second).record, 'permissions', 'tools a\nfolder /x/y')
    },
    invariant: 'I13',
    names: 'first',
    words: /may use more than its parent/,
  },
  {
    what: 'starts without a commit',
    scene: 'queued',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'token', '7:'),
    invariant: 'I14',
    names: 'root',
    words: /started 7 times without a commit/,
  },
]
