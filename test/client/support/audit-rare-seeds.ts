/** More changes by hand that audit must find: within histories, records and dead letters. */
import type { Scene } from './audit-scenes.ts'
import { type Hand, removeAt, type Seed } from './audit-seeds.ts'

/** Changes one entry of a history. */
async function edit({ redis, of }: Hand, worker: string, at: number, from: string | RegExp, to: string): Promise<void> {
  const { log } = of(worker)
  await redis.lset(log, at, ((await redis.lindex(log, at)) ?? '').replace(from, to))
}

async function doubleEntry({ redis, of }: Hand, worker: string, at: number, behind: number): Promise<void> {
  const { log } = of(worker)
  await redis.linsert(log, 'AFTER', (await redis.lindex(log, behind)) ?? '', (await redis.lindex(log, at)) ?? '')
}

const id = '0199aaaa-bbbb-8ccc-8ddd-eeeeffff0000'

const received = (run: number, message: object) =>
  JSON.stringify({ type: 'received', v: 1, at: 1, run, epoch: 1, message: { id, from: null, ...message } })
const timer = received(1, { kind: 'timer' })
const input = received(2, { kind: 'input', id: 'inbox-1', at: 1, value: 1 })

/** Fields of records that contradict the history, or each other. */
const inRecords: readonly (readonly [
  what: string,
  scene: Scene,
  fields: Readonly<Record<string, string>>,
  invariant: string,
  words: RegExp,
])[] = [
  ['a count of steps', 'backlog', { steps: '2' }, 'I4', /has 2 steps by its record, 0 by its history/],
  ['a count of signals', 'backlog', { signalsOpen: '3' }, 'I4', /3 signals are open by its record, 1 by its history/],
  ['a failed run that is shown as idle', 'broken', { runState: 'Idle' }, 'I11', /failed, and it is shown as Idle/],
  ['a worker that is parked without a run', 'done', { status: 'parked' }, 'I9', /it is parked and no run is open/],
  ['a worker at no gate', 'done', { status: 'parked', wait: 'gate' }, 'I18', /at a gate, and its record names none/],
]

export const rareSeeds: readonly Seed[] = [
  {
    what: 'a dead letter',
    scene: 'broken',
    async tamper(hand) {
      await removeAt(hand.redis, hand.of(hand.cast.root).log, 0)
      await edit(hand, hand.cast.root, 0, '"code":"run_failed"', '"code":"poison"')
    },
    invariant: 'I1',
    names: 'root',
    words: /1 of its messages were put aside, 0 are among the dead letters/,
  },
  {
    what: 'an entry of those with which a session begins, behind others',
    scene: 'done',
    tamper: ({ redis, of, cast }) =>
      redis.rpush(
        of(cast.root).log,
        JSON.stringify({ type: 'error', v: 1, at: 1, run: 0, epoch: 0, id, message: 'x' }),
      ),
    invariant: 'I4',
    names: 'root',
    words: /an entry of run 0 stands at position \d+, behind entries of the worker/,
  },
  {
    what: 'a dead letter of a message that was received',
    scene: 'done',
    tamper: ({ redis, keys, cast }) => redis.xadd(keys.dead, '*', 'worker', cast.root, 'mail', 'i\t-\t0'),
    invariant: 'I2',
    names: 'root',
    words: /0 of its messages were put aside, 1 are among/,
  },
  {
    what: 'the input that began a run',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) => redis.del(of(cast.root).log),
    invariant: 'I1',
    names: 'root',
    words: /run 1 is open and the input that began it is not there/,
  },
  {
    what: 'a result in a history, doubled',
    scene: 'gatherer',
    tamper: (hand) => doubleEntry(hand, hand.cast.root, 1, 2),
    invariant: 'I2',
    names: 'root',
    words: /3 results are in its history, 2 were consumed/,
  },
  {
    what: 'a timer in a history that never came',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) =>
      redis.rpush(
        of(cast.root).log,
        JSON.stringify({ type: 'received', v: 1, at: 1, run: 1, epoch: 1, message: { kind: 'timer', id, from: null } }),
        JSON.stringify({ type: 'received', v: 1, at: 1, run: 1, epoch: 1, message: { kind: 'timer', id, from: null } }),
      ),
    invariant: 'I2',
    names: 'root',
    words: /2 signals are in its history, 0 were consumed/,
  },
  {
    what: 'the order of inputs',
    scene: 'chat',
    async tamper(hand) {
      await edit(hand, hand.cast.root, 2, 'inbox-1', 'inbox-2')
      await edit(hand, hand.cast.root, 4, 'inbox-2', 'inbox-1')
    },
    invariant: 'I3',
    names: 'root',
    words: /message inbox-1 was received after later ones/,
  },
  {
    what: 'an entry of an agent',
    scene: 'agent',
    tamper: ({ redis, of, cast }) => removeAt(redis, of(cast.root).log, 1),
    invariant: 'I4',
    names: 'root',
    words: /entry 2 of its history stands at position 1/,
  },
  {
    what: 'the result of a tool, doubled',
    scene: 'agent',
    tamper: (hand) => doubleEntry(hand, hand.cast.root, 2, 2),
    invariant: 'I10',
    names: 'root',
    words: /call \S+ has two results/,
  },
  {
    what: 'a count of spawning calls',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'calls', 1),
    invariant: 'I4',
    names: 'root',
    words: /made 1 spawning calls by its record, 2 by its history/,
  },
  {
    what: 'a call that is awaited',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'pendingCalls', '1'),
    invariant: 'I8',
    names: 'root',
    words: /awaits the calls 1; by its history 1,2/,
  },
  {
    what: 'a history without a commit',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.hdel(of(cast.root).record, 'commit'),
    invariant: 'I4',
    names: 'root',
    words: /has a history and no commit/,
  },
  {
    what: 'the epoch of a record',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'commit', '0:n:1:1'),
    invariant: 'I5',
    names: 'root',
    words: /epoch 1 is in its history, 0 in its record/,
  },
  {
    what: 'a token of one that runs',
    scene: 'queued',
    async tamper({ redis, keys, of, cast }) {
      await redis.zrem(keys.run('unhosted'), cast.root)
      await redis.zadd(keys.leases, 9e15, cast.root)
      await redis.hset(of(cast.root).record, 'status', 'running')
    },
    invariant: 'I7',
    names: 'root',
    words: /running and has no token/,
  },
  {
    what: 'what a parked worker waits for',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'wait', `result:${cast.second}`),
    invariant: 'I7',
    names: 'root',
    words: /parked and what it waits for \(result:\S+\) is in its mailbox/,
  },
  {
    what: 'an idle worker in the midst of a run',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'status', 'idle'),
    invariant: 'I9',
    names: 'root',
    words: /idle and a run is open/,
  },
  {
    what: 'the path of a child',
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.first).record, 'path1', 'nonsense'),
    invariant: 'key',
    names: 'first',
    words: /^field path1 of its record should not be "nonsense"$/,
  },
  {
    what: "a child's parent",
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.first).record, 'path1', `${id}:1`),
    invariant: 'I8',
    names: 'root',
    words: /its child \S+ does not know it/,
  },
  {
    what: 'a child with its place in the session',
    scene: 'parentWithChildren',
    async tamper({ redis, of, own, cast }) {
      await redis.del(of(cast.second).record)
      await redis.lrem(own.workers, 1, cast.second)
    },
    invariant: 'I8',
    names: 'root',
    words: /its child \S+ \(call 2\) is not among the workers of its session/,
  },
  {
    what: "a child's result before its end",
    scene: 'parentWithChildren',
    tamper: ({ redis, of, cast }) => redis.rpush(of(cast.root).results, `r\t${cast.first}\t9\tcompleted\t{}`),
    invariant: 'I8',
    names: 'root',
    words: /a result of its child \S+, which has not ended/,
  },
  {
    what: 'a child, listed twice',
    scene: 'parentWithChildren',
    tamper: ({ redis, own, cast }) => redis.rpush(own.workers, cast.first),
    invariant: 'I8',
    names: 'session',
    words: /lists a worker twice/,
  },
  {
    what: 'the starts of a suspect',
    scene: 'queued',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'isolated', 4),
    invariant: 'I14',
    names: 'root',
    words: /had 4 isolated starts, 3 are allowed/,
  },
  {
    what: 'a session with its place in the index',
    scene: 'parentWithChildren',
    async tamper({ redis, keys, of, cast }) {
      await redis.del(of(cast.root).record)
      await redis.zrem(keys.sessions, cast.session.id)
    },
    invariant: 'I16',
    names: 'orphan',
    words: /of session \S+, which has no record/,
  },
  {
    what: 'a place in the run queue of nobody',
    scene: 'done',
    async tamper({ redis, keys, of, cast }) {
      await redis.del(of(cast.root).record)
      await redis.zrem(keys.sessions, cast.session.id)
      await redis.zadd(keys.run('default'), 1, cast.root)
    },
    invariant: 'I7',
    names: 'root',
    words: /the run queue of pool default names worker \S+, which has no record/,
  },
  {
    what: 'the end of a session',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'ended', 'completed 1'),
    invariant: 'I16',
    names: 'session',
    words: /has ended, and its root has a run open or mail waiting/,
  },
  {
    what: 'a state that is shown',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, 'runState', 'Failed'),
    invariant: 'I11',
    names: 'root',
    words: /its last run completed, and it is shown as failed/,
  },
  {
    what: 'an entry that is no JSON',
    scene: 'chat',
    tamper: (hand) => edit(hand, hand.cast.root, 3, /^./, ''),
    invariant: 'I4',
    names: 'root',
    words: /the entry at position 3 of its history cannot be read/,
  },
  {
    what: 'an entry without what its type has',
    scene: 'chat',
    tamper: (hand) => edit(hand, hand.cast.root, 2, '"message"', '"mess"'),
    invariant: 'I4',
    names: 'root',
    words: /the entry at position 2 of its history cannot be read/,
  },
  ...inRecords.map(
    ([what, scene, fields, invariant, words]): Seed => ({
      what,
      scene,
      tamper: ({ redis, of, cast }) => redis.hset(of(cast.root).record, fields),
      invariant,
      names: 'root',
      words,
    }),
  ),
  {
    what: 'a timer in a history, doubled',
    scene: 'backlog',
    tamper: ({ redis, of, cast }) => redis.rpush(of(cast.root).log, timer, timer),
    invariant: 'I2',
    names: 'root',
    words: /timer \S+ was received twice/,
  },
  {
    what: 'an input of a run that is not open',
    scene: 'done',
    tamper: ({ redis, of, cast }) => redis.rpush(of(cast.root).log, input),
    invariant: 'I4',
    names: 'root',
    words: /run 2 is in its history, is not open and has no end/,
  },
  {
    what: 'the last failure, which is another one',
    scene: 'broken',
    tamper: ({ redis, of, cast }) => redis.set(of(cast.root).failure, '{"code":"run_failed","message":"another"}'),
    invariant: 'I11',
    names: 'root',
    words: /its last run failed with another failure than its last one/,
  },
  {
    what: 'a run queue of a pool that nobody registered',
    scene: 'queued',
    async tamper({ redis, of, keys, cast }) {
      await redis.hset(of(cast.root).record, 'pool', 'lost')
      await redis.zadd(keys.run('lost'), 1, cast.root)
    },
    invariant: 'I7',
    names: 'root',
    words: /in the run queue of pool lost, which is not registered/,
  },
]
