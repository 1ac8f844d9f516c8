/** Scripts are functions where Redis has them, and the same scripts by their source where it has none. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { digestKey } from '../../../src/core/ids.ts'
import { encodeInput } from '../../../src/core/worker/message/message.ts'
import { workerKeys } from '../../../src/store/keys.ts'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { scriptLibrary } from '../../../src/store/script/script-source.ts'
import * as scripts from '../../../src/store/script/scripts.ts'
import { SessionStore } from '../../../src/store/session/session-store.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { Place } from '../support/place.ts'

/** How often each of these commands was called, and refused. */
async function callsOf(redis: Redis): Promise<Record<string, number>> {
  const stats = (await redis.info('commandstats')).matchAll(
    /^cmdstat_(fcall|evalsha|eval|function\|load):calls=(\d+),.*rejected_calls=(\d+)/gm,
  )
  return Object.fromEntries([...stats].map(([, name, calls, rejected]) => [name, Number(calls) + Number(rejected)]))
}

async function librariesOf(redis: Redis): Promise<string[]> {
  const lists = (await redis.function('LIST')) as [string, string][]
  return lists.map(([, name]) => name)
}

type Command = (...words: string[]) => Promise<unknown>

/** Answers to FUNCTION LOAD come when they are released; `given`: Redis has given the first. */
function holdLoads(redis: Redis): { readonly given: Promise<void>; readonly release: () => void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: given, resolve: isGiven } = Promise.withResolvers<void>()
  const load = redis.function.bind(redis) as unknown as Command
  redis.function = (async (...words: string[]) => {
    const answer = await load(...words)
    isGiven()
    await released
    return answer
  }) as unknown as Redis['function']
  return { given, release }
}

/** A call that reads and changes nothing: a worker that is not there. */
function postTo(caller: ScriptCaller, deadlineMs = 20_000): Promise<unknown> {
  const keys = {
    record: '{t}:w:x',
    inbox: '{t}:w:x:mail:inbox',
    run: '{t}:run:default',
    events: '{t}:events',
    idem: '-',
  }
  const args = { worker: 'x', mail: '-', idemMs: 0, seed: 's', wakeupMs: 1, event: '[]', asked: '', when: undefined }
  return caller.call(scripts.postScript, keys, args, { deadlineMs })
}

let server: RedisServer
let admin: Redis

async function start(...settings: string[]): Promise<void> {
  server = await RedisServer.start({ durability: 'none', settings })
  admin = openRedis(server.url)
  onTestFinished(async () => {
    admin.disconnect()
    await server[Symbol.asyncDispose]()
  })
}

/** A caller whose Redis user has these rules. */
async function callerWith(...rules: string[]): Promise<ScriptCaller> {
  await admin.acl('SETUSER', 'some', 'on', '>secret', '~*', '&*', '+@all', ...rules)
  const redis = openRedis(server.url.replace('//', '//some:secret@'))
  onTestFinished(() => redis.disconnect())
  return new ScriptCaller(redis, true)
}

/** Makes thirty calls. Returns how often they may send the library: once, and then once a second. */
async function loadsWhileAsking(caller: ScriptCaller): Promise<number> {
  const began = performance.now()
  for (let time = 0; time < 30; time++) expect(await postTo(caller)).toEqual(['not_found'])
  return 1 + Math.floor((performance.now() - began) / 1_000)
}

describe.skipIf(!inject('hasFunctions'))('a Redis with functions', () => {
  beforeEach(() => start())

  test('a Redis with functions gets the library once, not from each of the calls that find it missing at the same time', async () => {
    const caller = new ScriptCaller(admin)
    const answers = await Promise.all(Array.from({ length: 30 }, () => postTo(caller)))
    expect(new Set(answers.map(String))).toEqual(new Set(['not_found']))
    expect(await librariesOf(admin)).toEqual([scriptLibrary.name])
    const { fcall, 'function|load': loads } = await callsOf(admin)
    expect(fcall).toBe(60)
    // A "not found" may be read after the library has come.
    expect(loads).toBeLessThan(5)
  })

  test('a Redis that got the functions from another process does not get them again', async () => {
    const caller = new ScriptCaller(admin)
    // The other process sends the functions after this one found them missing, and before this one sends them.
    const load = admin.function.bind(admin) as unknown as Command
    admin.function = (async (...words: string[]) => {
      await load(...words)
      return load(...words)
    }) as unknown as Redis['function']
    for (let time = 0; time < 3; time++) expect(await postTo(caller)).toEqual(['not_found'])
    await postTo(await callerWith())
    expect(await librariesOf(admin)).toEqual([scriptLibrary.name])
    const { evalsha = 0, eval: evaluated = 0 } = await callsOf(admin)
    expect(evalsha + evaluated).toBe(0)
  })

  test('a Redis that gets the functions answers the calls that waited for them before later ones', async () => {
    const { given, release } = holdLoads(admin)
    const caller = new ScriptCaller(admin)
    const answered: string[] = []
    const call = (name: string) => postTo(caller).then(() => void answered.push(name))
    const first = [call('first'), call('second')]
    await given
    const meanwhile = call('third')
    await admin.ping()
    expect(answered).toEqual([])
    release()
    await Promise.all([...first, meanwhile])
    expect(answered).toEqual(['first', 'second', 'third'])
  })

  test('a Redis that loses its functions and gets them again answers in order, even if a waiting call gave up (W-b)', async () => {
    const caller = new ScriptCaller(admin)
    const answered: string[] = []
    const call = (name: string) => postTo(caller).then(() => void answered.push(name))
    const isLost = holdLoads(admin)
    const first = call('first')
    await isLost.given
    await expect(postTo(caller, 50)).rejects.toMatchObject({ code: 'store_unavailable' })
    const meanwhile = call('second')
    await admin.ping()
    isLost.release()
    await Promise.all([first, meanwhile])
    await admin.function('FLUSH')
    const isLostAgain = holdLoads(admin)
    const third = call('third')
    await isLostAgain.given
    const last = call('fourth')
    await admin.ping()
    isLostAgain.release()
    await Promise.all([third, last])
    expect(answered).toEqual(['first', 'second', 'third', 'fourth'])
  })

  test('a Redis that gets the functions from another process in between does calls in order behind the repeated call (W-b)', async () => {
    const other = openRedis(server.url)
    const caller = new ScriptCaller(admin)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const [load, fcall] = [admin.function.bind(admin), admin.fcall.bind(admin)] as unknown as [Command, Command]
    admin.function = (async (...words: string[]) => released.then(() => load(...words))) as unknown as Redis['function']
    let refused: Promise<unknown> | undefined
    admin.fcall = (async (...words: string[]) => {
      if (refused === undefined) {
        const answer = fcall(...words)
        refused = answer.catch(() => {})
        return answer
      }
      // The first was refused by then, or it would find the library of the other, too.
      await refused
      await other.function('LOAD', 'REPLACE', scriptLibrary.text)
      return fcall(...words)
    }) as unknown as Redis['fcall']
    const answered: string[] = []
    const call = (name: string) => postTo(caller).then(() => void answered.push(name))
    const first = call('first')
    await call('second')
    const third = call('third')
    await admin.ping()
    release()
    await Promise.all([first, third])
    expect(answered).toEqual(['second', 'first', 'third'])
    other.disconnect()
  })

  test('a Redis that got the functions also keeps the order of calls made at the moment when the waiting ones go on', async () => {
    const { given, release } = holdLoads(admin)
    const caller = new ScriptCaller(admin)
    const answered: number[] = []
    const calls: Promise<void>[] = []
    const call = (): Promise<unknown> => {
      const [number, answer] = [calls.length, postTo(caller)]
      calls.push(answer.then(() => void answered.push(number)))
      return answer
    }
    const first = call()
    await given
    void call()
    release()
    await first
    while (calls.length < 30) {
      void call()
      await Promise.resolve()
    }
    await Promise.all(calls)
    expect(answered).toEqual(calls.map((_, number) => number))
  })

  test('a Redis that is slow to take the functions fails calls at their deadline, and does none of them later', async () => {
    const { given, release } = holdLoads(admin)
    const caller = new ScriptCaller(admin)
    const told = await Promise.allSettled([postTo(caller, 500), postTo(caller, 500)])
    const reason = expect.objectContaining({ code: 'store_unavailable' })
    expect(told).toEqual(told.map(() => ({ status: 'rejected', reason })))
    await given
    release()
    expect(await postTo(caller)).toEqual(['not_found'])
    expect(await callsOf(admin)).toEqual({ fcall: 3, 'function|load': 1 })
  })

  test('a Redis takes the library even if two more functions are shared: Lua allows 200 names in it', async () => {
    const { text } = scriptLibrary
    const behindFirstLine = text.indexOf('\n') + 1
    const larger = `${text.slice(0, behindFirstLine)}local one, two\n${text.slice(behindFirstLine)}`
    expect(await admin.function('LOAD', larger)).toBe(scriptLibrary.name)
  })

  test('a Redis that lost the functions gets them again, and keeps the library of another version', async () => {
    const caller = new ScriptCaller(admin)
    await postTo(caller)
    await admin.function('LOAD', "#!lua name=troupe_0\nredis.register_function('troupe_0_post', function() end)")
    await admin.function('DELETE', scriptLibrary.name)
    expect(await postTo(caller)).toEqual(['not_found'])
    expect((await librariesOf(admin)).sort()).toEqual(['troupe_0', scriptLibrary.name].sort())
  })

  test('a Redis that loses the functions again at once is called by digest for a while, and then gets them again', async () => {
    const { given, release } = holdLoads(admin)
    const caller = new ScriptCaller(admin)
    const first = postTo(caller)
    await given
    await admin.call('FUNCTION', 'FLUSH')
    release()
    expect(await first).toEqual(['not_found'])
    expect(await callsOf(admin)).toEqual({ fcall: 2, 'function|load': 1, evalsha: 1, eval: 1 })
    await waitUntil('it has it', async () => {
      expect(await postTo(caller)).toEqual(['not_found'])
      return (await librariesOf(admin)).includes(scriptLibrary.name)
    })
  })

  test.each([
    ['call functions', '-fcall', { fcall: 1, evalsha: 3, eval: 1 }],
    ['load functions', '-function|load', { fcall: 1, 'function|load': 1, evalsha: 3, eval: 1 }],
  ])('a Redis whose user may not %s is asked by digest from then on', async (_, rule, calls) => {
    const caller = await callerWith(rule)
    for (let time = 0; time < 3; time++) expect(await postTo(caller)).toEqual(['not_found'])
    expect(await callsOf(admin)).toEqual(calls)
  })

  test('a Redis whose user may not load functions is called by those that are there', async () => {
    await postTo(new ScriptCaller(admin))
    expect(await postTo(await callerWith('-function|load'))).toEqual(['not_found'])
    expect(await callsOf(admin)).toEqual({ fcall: 3, 'function|load': 1 })
  })

  test('a Redis that has another library of this name is asked by digest', async () => {
    const { name } = scriptLibrary
    await admin.function('LOAD', `#!lua name=${name}\nredis.register_function('other', function() end)`)
    const loadsMost = await loadsWhileAsking(new ScriptCaller(admin))
    const { 'function|load': loads, ...calls } = await callsOf(admin)
    expect(calls).toMatchObject({ evalsha: 30, eval: 1 })
    // The count holds the load of this test, too.
    expect(loads).toBeLessThanOrEqual(1 + loadsMost)
  })

  test('a full Redis that never got the functions answers what it can, and gets them when there is room', async () => {
    await admin.config('SET', 'maxmemory', '1')
    const caller = new ScriptCaller(admin)
    const loadsMost = await loadsWhileAsking(caller)
    expect((await callsOf(admin))['function|load']).toBeLessThanOrEqual(loadsMost)
    await admin.config('SET', 'maxmemory', '0')
    await waitUntil('it was given it', async () => {
      expect(await postTo(caller)).toEqual(['not_found'])
      return (await librariesOf(admin)).includes(scriptLibrary.name)
    })
  })

  test.each([
    ['full', () => admin.config('SET', 'maxmemory', '1')],
    ['a read-only replica', () => admin.replicaof('127.0.0.1', '1')],
  ])('a Redis that is %s refuses no snapshot for an audit', async (_, become) => {
    const caller = new ScriptCaller(admin)
    await postTo(caller)
    await become()
    const keys = {
      leases: '{t}:leases',
      timers: '{t}:timers',
      sessions: '{t}:sessions',
      cancelling: '{t}:cancelling',
      ends: '{t}:ends',
    }
    const args = { session: undefined, workers: ['x'], pools: [], headBytes: 1, budget: 1 }
    const look = () => caller.call(scripts.lookScript, keys, args, { deadlineMs: 20_000 })
    for (let time = 0; time < 3; time++) expect(await look()).toEqual([[], [['x', 1]], []])
    expect(await callsOf(admin)).toEqual({ fcall: 5, 'function|load': 1 })
  })

  test('a full Redis answers a call that was recorded before', async () => {
    await using place = await Place.open({ redisUrl: server.url })
    await place.create()
    const turn = await place.node().claim()
    expect(await turn.commit({ entries: ['{}'], inputsConsumed: 1 })).toMatchObject({ kind: 'ok' })
    const { flat, keyCount, reply } = place.wire.last
    const [leases = '', events = ''] = flat.map(String)
    const header = JSON.parse(String(flat[keyCount]))
    await admin.config('SET', 'maxmemory', '1')
    const again = new ScriptCaller(admin).call(
      scripts.commitScript,
      { leases, events },
      { ...header, texts: flat.slice(keyCount + 1) },
      { deadlineMs: 20_000 },
    )
    expect(await again).toEqual(reply)
  })
})

test.skipIf(!inject('hasFunctions')).each(['fcall', 'function'])(
  'a Redis without the command %s is asked by digest from then on',
  async (command) => {
    await start(`rename-command ${command} ""`)
    const caller = new ScriptCaller(admin)
    for (let time = 0; time < 3; time++) expect(await postTo(caller)).toEqual(['not_found'])
    expect(await callsOf(admin)).toMatchObject({ evalsha: 3, eval: 1 })
  },
)

const functionsUsed = { with: 'functions', settings: [], used: ['fcall', 'function|load'] }

test.each([
  ...(inject('hasFunctions') ? [functionsUsed] : []),
  { with: 'none', settings: inject('hasFunctions') ? ['rename-command fcall ""'] : [], used: ['evalsha', 'eval'] },
])(
  'a Redis with $with that lost its scripts does calls in the order in which they are made',
  async ({ settings, used }) => {
    await start(...settings)
    await using network = await TcpProxy.start(server.url)
    await using place = await Place.open({ redisUrl: server.url })
    const { root } = await place.create({ limits: { mailbox: 100_000 } })
    if (inject('hasFunctions')) await admin.call('FUNCTION', 'FLUSH')
    await admin.script('FLUSH')
    await admin.config('RESETSTAT')
    const redis = openRedis(network.url)
    onTestFinished(() => redis.disconnect())
    const sessions = new SessionStore(redis, new ScriptCaller(redis), place.keys, 0, place.policy, 20_000)
    network.delay(10)
    // No call waits for the answer to another: when the first call is answered that the function is not there, hundreds are on their way.
    const answered: string[] = []
    const calls: Promise<unknown>[] = []
    while (answered.length === 0 && calls.length < 3_000) {
      const text = String(calls.length)
      const call = sessions.post(
        root,
        encodeInput(null, text),
        { digest: digestKey(text, 'message'), isGiven: false },
        '[]',
      )
      calls.push(call.then(() => answered.push(text)))
      await nextTurn()
    }
    await Promise.all(calls)
    const mails = await admin.lrange(workerKeys(place.keys.tag, root).inbox, 1, -1)
    expect(mails.map((mail) => mail.split('\t').at(-1))).toEqual(calls.map((_, index) => String(index)))
    expect(Object.keys(await callsOf(admin))).toEqual(expect.arrayContaining(used))
  },
)

test.each([
  "ERR unknown command 'fcall', with args beginning with: 'troupe_0_post' ",
  'ERR unknown command `FCALL`, with args beginning with: `troupe_0_post`, ',
  "ERR Command is not available: 'FCALL'.",
  "ERR unsupported command 'fcall'",
])('a server without functions is asked by digest: %s', async (message) => {
  const fcall = () => Promise.reject(new Error(message))
  const caller = new ScriptCaller({ fcall, evalsha: async () => ['not_found'] } as unknown as Redis)
  expect(await postTo(caller)).toEqual(['not_found'])
})
