/** Keys and fields that somebody wrote over, and sessions of which nothing is left. */
import type { Hand, Seed } from './audit-seeds.ts'

async function write(hand: Hand, key: string): Promise<void> {
  await hand.redis.del(key)
  await hand.redis.set(key, 'not what it was')
}

async function writeHash({ redis }: Hand, key: string): Promise<void> {
  await redis.del(key)
  await redis.hset(key, 'not', 'what it was')
}

type WorkerKey = 'record' | 'log' | 'timers' | 'asks' | 'signals' | 'results' | 'large' | 'inbox' | 'state' | 'failure'
type SessionKey = 'runResults' | 'workers' | 'cancelled' | 'asks' | 'blobs' | 'permissions'

const sorts: Readonly<Record<WorkerKey | SessionKey, string>> = {
  record: 'hash',
  log: 'list',
  timers: 'hash',
  asks: 'set',
  signals: 'list',
  results: 'list',
  large: 'hash',
  inbox: 'list',
  state: 'string',
  failure: 'string',
  runResults: 'hash',
  workers: 'list',
  cancelled: 'set',
  blobs: 'hash',
  permissions: 'hash',
}

const ofWorkers = (
  ['record', 'log', 'timers', 'signals', 'results', 'large', 'inbox', 'state', 'failure'] as const
).map(
  (name): Seed => ({
    what: `a key of a worker (${name})`,
    scene: name === 'failure' ? 'broken' : 'parentWithChildren',
    tamper: (hand) => {
      const key = hand.of(hand.cast.root)[name]
      return sorts[name] === 'string' ? writeHash(hand, key) : write(hand, key)
    },
    invariant: 'key',
    names: 'root',
    words: new RegExp(`^key \\S+ is a (string|hash) and should be a ${sorts[name]}$`),
  }),
)

const ofSessions = (['runResults', 'workers', 'cancelled', 'blobs', 'permissions'] as const).map(
  (name): Seed => ({
    what: `a key of a session (${name})`,
    scene: 'parentWithChildren',
    tamper: (hand) => write(hand, hand.own[name]),
    invariant: 'key',
    names: 'session',
    words: new RegExp(`^key \\S+ is a string and should be a ${sorts[name]}$`),
  }),
)

const fields = (
  [
    ['status', 'bogus'],
    ['runState', 'Bogus'],
    ['run', 'two'],
    ['wait', 'for nothing'],
    ['depth', '2'],
  ] as const
).map(
  ([name, text]): Seed => ({
    what: `a field of a record (${name})`,
    scene: 'chat',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, name, text),
    invariant: 'key',
    names: 'root',
    words:
      name === 'depth'
        ? /^field path1 of its record should be there; field path2 of its record should be there$/
        : new RegExp(`^field ${name} of its record should not be "${text}"$`),
  }),
)

const ofBlobs: readonly Seed[] = (
  [
    ['the bytes of a blob', { aa: '4 text/plain', bytes: '4' }, /that blob "?aa"? has 4 bytes, and its key has 0$/],
    ['the sum of all blobs', { bytes: '7' }, /that its blobs have 7 bytes, and they have 0$/],
  ] as const
).map(([what, index, words]) => ({
  what,
  scene: 'parentWithChildren',
  tamper: (hand) => hand.redis.hset(hand.own.blobs, index),
  invariant: 'I16',
  names: 'session',
  words,
}))

const ofPermissions: readonly Seed[] = [
  {
    what: 'permissions of another text',
    scene: 'parentWithChildren',
    async tamper({ redis, own, of, cast }) {
      await redis.hset(own.permissions, 'a'.repeat(40), 'tools x')
      await redis.hset(of(cast.root).record, 'permissions', `@${'a'.repeat(40)}`)
    },
    invariant: 'I13',
    names: 'session',
    words: /keeps permissions as "?a{40}"?, and their text has another digest$/,
  },
  {
    what: 'permissions that are lost',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'permissions', `@${'a'.repeat(40)}`),
    invariant: 'key',
    names: 'root',
    words: /^field permissions of its record names some that its session does not have$/,
  },
]

export const keySeeds: readonly Seed[] = [
  ...ofPermissions,
  ...ofWorkers,
  ...ofBlobs,
  ...ofSessions,
  ...fields,
  {
    what: 'a key of a worker, beside another fault in its session',
    scene: 'parentWithChildren',
    async tamper(hand) {
      await write(hand, hand.of(hand.cast.second).log)
      await hand.redis.del(hand.of(hand.cast.first).timers)
    },
    invariant: 'I9',
    names: 'first',
    words: /1 of its signals are open, 0 are there/,
  },
  {
    what: 'a field of a session',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'ended', 'somehow'),
    invariant: 'key',
    names: 'session',
    words: /^field ended of the record of session \S+ should not be "somehow"$/,
  },
  {
    what: 'a field of a session that pruning has looked at',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'resting', 'some'),
    invariant: 'key',
    names: 'session',
    words: /^field resting of the record of session \S+ should not be "some"$/,
  },
  {
    what: 'a whole session that waited',
    scene: 'queued',
    async tamper({ redis, keys, of, cast }) {
      await redis.del(of(cast.root).record, of(cast.root).inbox)
      await redis.zrem(keys.sessions, cast.session.id)
      await redis.zrem(keys.run('unhosted'), cast.root)
    },
    invariant: 'I16',
    names: 'session',
    words: /was created and did not end, and neither it nor its root is there/,
  },
]
