/**
 * Duty: brings the mails that workers of one partition sent to workers of others into their mailboxes.
 * OUTBOX-1 A mail is in the outbox of its sender's partition from the commit that sent it until the other partition has it. Each partition remembers
 *     the number of the last mail that it has of each other, in the script that puts it into its mailbox: so it is there once, however often it is brought.
 * OUTBOX-2 Mails of one outbox are brought in their order. A partition that cannot be reached holds up no mail for another.
 * OUTBOX-3 A mail that its recipient does not take (it is gone, has ended, or its mailbox is full) is taken out, and an event of the sender says so. The
 *     other partition remembers that it was refused: the node that takes it out may be another one than the node that brought it.
 * OUTBOX-4 A process that has not learned yet that the number of partitions was raised leaves mails for the new ones until it has.
 */
import { type RuntimeError, TransientError, toRuntimeError } from '../core/errors.ts'
import { encodeEvents } from '../core/event/event-notes.ts'
import { sessionIdOfRoot } from '../core/ids.ts'
import type { Policy } from '../core/policy.ts'
import type { Carried, OutboxStore } from '../core/ports/outbox.ts'
import { outboxKeys, workerKeys } from './keys.ts'
import type { OpenPlace } from './places.ts'
import { sessionOfPath } from './record/worker-record.ts'
import { guarded } from './redis/guarded.ts'
import { pieceLike } from './redis/large-keys.ts'
import type { Reply } from './script/script.ts'
import { deliveredScript, deliverScript } from './script/scripts.ts'
import { partitionsNow } from './set-up/set-up.ts'
import { newSeed, parseWakeups } from './wakeups.ts'

/** How many mails, and how many bytes of them, one script takes; one mail may have more. */
const atOnce = 16
const bytesMost = 1_048_576

interface Mail {
  readonly number: number
  readonly sender: string
  readonly worker: string
  readonly when: string
  readonly text: string
}

interface Refused {
  readonly mail: Mail
  readonly why: string
}

/** The first of these mails, as many as one script takes. */
function fitting(mails: readonly Mail[]): readonly Mail[] {
  let bytes = 0
  const beyond = mails.findIndex(({ text }, index) => {
    bytes += text.length
    return index > 0 && bytes > bytesMost
  })
  return beyond === -1 ? mails : mails.slice(0, beyond)
}

export class RedisOutboxStore implements OutboxStore {
  readonly #own: OpenPlace
  readonly #all: readonly OpenPlace[]
  readonly #policy: Policy
  /** How many mails are read at once: fewer after long ones. */
  #count = atOnce

  constructor(own: OpenPlace, all: readonly OpenPlace[], policy: Policy) {
    this.#own = own
    this.#all = all
    this.#policy = policy
  }

  async partitions(): Promise<number[]> {
    if (this.#all.length === 1) return []
    const { redis, keys } = this.#own
    const read = () => redis.hkeys(outboxKeys(keys.tag).sent)
    return (await guarded('reading outboxes', read, this.#policy.leaseMs)).map(Number)
  }

  async carry(partition: number): Promise<Carried> {
    const carried = { wakeups: [...parseWakeups('')], delivered: 0, refused: 0 }
    try {
      for (;;) {
        const most = this.#count
        const read = await this.#read(partition, most)
        if (read.length === 0) break
        const mails = fitting(read)
        const { last, wakeups, refused } = await this.#deliver(partition, mails)
        carried.wakeups.push(...wakeups)
        const taken = await this.#takeOut(partition, mails, last, refused)
        carried.delivered += taken
        carried.refused += refused.filter(({ mail }) => mails.indexOf(mail) < taken).length
        this.#count = countAfter(read)
        if (read.length < most && mails.length === read.length) break
      }
      return carried
    } catch (thrown) {
      const error: RuntimeError = toRuntimeError(thrown)
      return { ...carried, error }
    }
  }

  async #read(partition: number, most: number): Promise<Mail[]> {
    const { redis, keys } = this.#own
    const read = () => redis.lrange(outboxKeys(keys.tag).out(String(partition)), 0, most - 1)
    return (await guarded('reading an outbox', read, this.#policy.leaseMs)).map(decode)
  }

  async #deliver(partition: number, mails: readonly Mail[]) {
    const place = this.#all[partition]
    if (place === undefined && (await this.#exists(partition))) throw unknownPartition(partition)
    if (place === undefined)
      return {
        last: mails.at(-1)?.number ?? 0,
        wakeups: [],
        refused: mails.map((mail) => ({ mail, why: 'not_found' })),
      }
    const [last, wakeups, refused] = (await place.caller.call(
      deliverScript,
      { received: outboxKeys(place.keys.tag).received },
      {
        from: String(this.#own.partition),
        seed: newSeed(),
        wakeupMs: this.#policy.wakeupMs,
        mails: mails.map(({ number, worker, when }) => ({ number, worker, when })),
        texts: mails.map(({ text }) => text),
      },
      { deadlineMs: this.#policy.leaseMs },
    )) as [string, string, Reply]
    return { last: Number(last), wakeups: parseWakeups(wakeups), refused: refusedOf(refused, mails) }
  }

  /** Whether the namespace has a partition that this process does not know (OUTBOX-4). */
  async #exists(partition: number): Promise<boolean> {
    return (await partitionsNow(this.#all[0] as OpenPlace, this.#policy.leaseMs)) > partition
  }

  /** Returns how many mails were taken out. */
  async #takeOut(
    partition: number,
    mails: readonly Mail[],
    last: number,
    refused: readonly Refused[],
  ): Promise<number> {
    const { caller, keys } = this.#own
    const told = await Promise.all(
      refused.map(async ({ mail: { number, sender } }) => ({ number, about: await this.#about(sender) })),
    )
    const notes = refused.map(({ mail, why }) => encodeEvents([['message.undelivered', { to: mail.worker, why }]]))
    const [taken] = await caller.call(
      deliveredScript,
      { out: outboxKeys(keys.tag).out(String(partition)), events: keys.events },
      { numbers: mails.map(({ number }) => number), last, refused: told, notes },
      { deadlineMs: this.#policy.leaseMs },
    )
    return Number(taken)
  }

  /** A worker, as events name it. */
  async #about(worker: string): Promise<string> {
    const { redis, keys } = this.#own
    const read = () => redis.hget(workerKeys(keys.tag, worker).record, 'path1')
    const path1 = await guarded('reading a sender', read, this.#policy.leaseMs)
    return path1 === null ? sessionIdOfRoot(worker) : `${sessionOfPath(path1)} ${worker}`
  }
}

/** As many mails of this size as one script takes. */
function countAfter(read: readonly Mail[]): number {
  const bytes = read.reduce((sum, { text }) => sum + text.length, 0)
  return pieceLike({ count: read.length, bytes }, { bytesMost, most: atOnce })
}

function decode(line: string): Mail {
  const [number = '', sender = '', worker = '', when = '', ...text] = line.split('\t')
  return { number: Number(number), sender, worker, when, text: text.join('\t') }
}

function refusedOf(flat: Reply, mails: readonly Mail[]): Refused[] {
  return mails.flatMap((mail) => {
    const index = flat.indexOf(String(mail.number))
    return index < 0 ? [] : [{ mail, why: String(flat[index + 1]) }]
  })
}

function unknownPartition(partition: number): TransientError {
  return new TransientError(
    `partition ${partition} is new, and this process has not learned of it yet: the messages to it are brought in a moment.`,
    { code: 'store_refused' },
  )
}
