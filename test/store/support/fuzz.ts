/**
 * A scene of a script that is spoiled again and again: arguments that nobody would send, keys of other sorts, fields that are missing or
 * nonsense. Needs a Redis of its own, which is emptied before each call.
 */
import type { Redis } from 'ioredis'
import { inject } from 'vitest'
import type { Random } from '../../support/fault/fault-settings.ts'
import { functionOf, type Sent } from './wire.ts'

export interface Attack {
  /** The parts that were spoiled, for whoever has to find out why. */
  readonly what: readonly string[]
  readonly reply: unknown
  /** Set when the script answered with an error. */
  readonly error: Error | null
  readonly hasWritten: boolean
}

type Steps = ReturnType<Redis['pipeline']>

type Keys = readonly { readonly key: string; readonly type: string; readonly dump: Buffer; readonly fields: string[] }[]

const nonsense = [
  '',
  'x',
  '-1',
  '0',
  '1',
  '1.5',
  '1e300',
  'nan',
  'inf',
  '-inf',
  '9007199254740993',
  ' ',
  '*',
  'a b c',
  '\t',
  ',',
]

/** One digest of everything that is stored. */
const digestScript = `local all = {}
local keys = redis.call('KEYS', '*')
table.sort(keys)
for index = 1, #keys do all[index] = keys[index] .. redis.sha1hex(redis.call('DUMP', keys[index])) end
return table.concat(all, ' ')`

export class FuzzScene {
  readonly #redis: Redis
  readonly #sent: Sent
  readonly #keys: Keys

  private constructor(redis: Redis, sent: Sent, keys: Keys) {
    this.#redis = redis
    this.#sent = sent
    this.#keys = keys
  }

  /** The arguments that are valid now, for a call that may be made. */
  static async take(redis: Redis, sent: Sent): Promise<FuzzScene> {
    const found = (await redis.keys('*')).sort()
    const keys = await Promise.all(
      found.map(async (key) => {
        const type = await redis.type(key)
        const fields = type === 'hash' ? await redis.hkeys(key) : []
        return { key, type, dump: await redis.dumpBuffer(key), fields }
      }),
    )
    return new FuzzScene(redis, sent, keys)
  }

  /** The same scene with another call. */
  with(sent: Sent): FuzzScene {
    return new FuzzScene(this.#redis, sent, this.#keys)
  }

  async attack(random: Random): Promise<Attack> {
    const what: string[] = []
    const steps = this.#redis.pipeline().flushdb()
    for (const { key, dump } of this.#keys) steps.restore(key, 0, dump)
    const flat = [...this.#sent.flat]
    const times = 1 + Math.floor(random() * 3)
    for (let time = 0; time < times; time++) {
      if (random() < 0.5) what.push(this.#spoilArguments(flat, random))
      else what.push(this.#spoilKeys(steps, flat, random))
    }
    return this.#make(steps, flat, what, random)
  }

  /** The call is made while the slot of its keys is on its way to another server: this share of them is there already. */
  async whileMoving(slot: number, to: string, share: number, random: Random): Promise<Attack> {
    const set = (steps: Steps, ...words: string[]) => steps.call('CLUSTER', 'SETSLOT', String(slot), ...words)
    const steps = set(this.#redis.pipeline(), 'STABLE').flushdb()
    for (const { key, dump } of this.#keys) steps.restore(key, 0, dump)
    const moved = this.#keys.filter(() => random() < share).map(({ key }) => key)
    for (const key of moved) steps.del(key)
    set(steps, 'MIGRATING', to)
    return this.#make(steps, this.#sent.flat, moved, random)
  }

  async #make(
    steps: Steps,
    flat: readonly (string | number)[],
    what: readonly string[],
    random: Random,
  ): Promise<Attack> {
    const { sha, keyCount } = this.#sent
    steps.eval(digestScript, 0)
    if (random() < 0.5 && inject('hasFunctions')) steps.fcall(functionOf(sha), keyCount, ...flat)
    else steps.evalsha(sha, keyCount, ...flat)
    steps.eval(digestScript, 0)
    const replies = (await steps.exec()) ?? []
    const [[, before], [error, reply], [, after]] = replies.slice(-3) as [
      [unknown, string],
      [Error, unknown],
      [unknown, string],
    ]
    return { what, reply, error, hasWritten: before !== after }
  }

  #spoilArguments(flat: (string | number)[], random: Random): string {
    const { keyCount } = this.#sent
    const place = keyCount + Math.floor(random() * (flat.length - keyCount))
    const way = random()
    if (way < 0.1) {
      flat.splice(place)
      return `no arguments from ${place - keyCount + 1} on`
    }
    if (String(flat[place]).startsWith('{"')) {
      flat[place] = JSON.stringify(spoiled(JSON.parse(String(flat[place])), random))
      return `the header is ${flat[place]}`
    }
    const value = pick(nonsense, random)
    if (way < 0.2) {
      flat.splice(place, 0, value)
      return `${JSON.stringify(value)} before argument ${place - keyCount + 1}`
    }
    flat[place] = value
    return `argument ${place - keyCount + 1} is ${JSON.stringify(value)}`
  }

  #spoilKeys(steps: Steps, flat: readonly (string | number)[], random: Random): string {
    const hash = pick(
      this.#keys.filter(({ fields }) => fields.length > 0),
      random,
    )
    if (random() < 0.5 && hash !== undefined) {
      const field = pick(hash.fields, random)
      const value = pick(nonsense, random)
      if (random() < 0.3) steps.hdel(hash.key, field)
      else steps.hset(hash.key, field, value)
      return `field ${field} of ${hash.key} is gone or ${JSON.stringify(value)}`
    }
    const given = flat.slice(0, this.#sent.keyCount).map(String)
    const key = pick([...given, ...this.#keys.map((one) => one.key)], random)
    const type = pick(['string', 'list', 'hash', 'set', 'zset', 'stream', 'none'], random)
    steps.del(key)
    if (type === 'string') steps.set(key, pick(nonsense, random))
    if (type === 'list') steps.rpush(key, 'x')
    if (type === 'hash') steps.hset(key, 'x', 'y')
    if (type === 'set') steps.sadd(key, 'x')
    if (type === 'zset') steps.zadd(key, 1, 'x')
    if (type === 'stream') steps.xadd(key, '*', 'x', 'y')
    return `key ${key} is a ${type}`
  }
}

/** A header in which one field, anywhere, is missing or of another type. */
function spoiled(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.05)
    return pick<unknown>([...nonsense, ...sorts], random)
  if (Array.isArray(value)) {
    const at = Math.floor(random() * value.length)
    if (random() < 0.2) return value.toSpliced(at, 1)
    return value.map((item, index) => (index === at ? spoiled(item, random) : item))
  }
  const name = pick(Object.keys(value), random)
  const rest = Object.entries(value).filter(([key]) => key !== name)
  if (random() < 0.2) return Object.fromEntries(rest)
  return { ...value, [name]: spoiled((value as Record<string, unknown>)[name], random) }
}

const sorts = [null, true, 1, 0, -1, 1.5, 1e300, 2 ** 53 + 2, [], ['x'], [[]], {}, { x: 1 }]

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(random() * items.length)] as Item
}
