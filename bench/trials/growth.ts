/**
 * Duty: measures the cost of one further turn, at a history of 10 messages and at one of 10 000 (P5). Both are conversations with the
 * same kind and the same node; blocks of turns alternate between them, so that both see the same machine.
 */

import { cleanSlate } from '../measure/clean-slate.ts'
import { countersBetween, readRedisCounters } from '../measure/redis-counters.ts'
import { median } from '../measure/statistics.ts'
import { historyLength } from '../measure/troupe-keys.ts'
import { openBenchTroupe } from '../peers/troupe-runs.ts'
import type { Conversation, TroupeUnderTest } from '../troupe.ts'
import { answererKindName } from '../troupe-agent.ts'
import type { Arena } from './arena.ts'

export const shortHistory = 10
export const longHistory = 10_000

/** Within a block each turn goes to another short conversation, so that they all stay short. */
const turnsPerBlock = 25
const blocksPerRepeat = 6
/** While the long conversation grows, its mailbox gets this many messages at a time: fewer than the limit of a mailbox. */
const growingAtOnce = 100
const text = 'A message of a conversation as people write them: a sentence or two, and about a hundred bytes long.'

export interface GrowthOfTurns {
  readonly shortMs: number
  readonly longMs: number
  readonly shortBytes: number
  readonly longBytes: number
  /** Medians over the pairs of blocks, not ratios of the medians: the two blocks of a pair are neighbours in time. */
  readonly timeRatio: number
  readonly bytesRatio: number
}

/** Begins a conversation and talks until its history has this many messages. */
type Grow = (messages: number) => Promise<Conversation>

interface Block {
  readonly msPerTurn: number
  readonly bytesPerTurn: number
}

export async function measureGrowth(arena: Arena): Promise<GrowthOfTurns> {
  await cleanSlate(arena.redis)
  const place = arena.nextPlace()
  const troupe = await openBenchTroupe(place)
  const grow = (messages: number) =>
    growConversation(troupe, messages, ({ workerId }) => historyLength(arena.redis, place.namespace, workerId))
  try {
    arena.progress(`growth: a conversation of ${longHistory} messages`)
    const long = await grow(longHistory)
    const pairs: { short: Block; long: Block }[] = []
    for (let repeat = 1; repeat <= arena.repeats; repeat++) {
      arena.progress(`growth: repeat ${repeat} of ${arena.repeats}`)
      pairs.push(...(await alternate(grow, long, arena)))
    }
    return summarise(pairs)
  } finally {
    await troupe.close()
  }
}

async function alternate(grow: Grow, long: Conversation, arena: Arena) {
  const pairs: { short: Block; long: Block }[] = []
  for (let block = 0; block < blocksPerRepeat; block++) {
    const shorts = await Promise.all(Array.from({ length: turnsPerBlock }, () => grow(shortHistory)))
    const longs = shorts.map(() => long)
    // The order alternates, because the first block finds the node still warm from growing the conversations.
    if (block % 2 === 0) {
      const short = await measureBlock(shorts, arena)
      pairs.push({ short, long: await measureBlock(longs, arena) })
    } else {
      const measuredLong = await measureBlock(longs, arena)
      pairs.push({ short: await measureBlock(shorts, arena), long: measuredLong })
    }
  }
  return pairs
}

/** One turn at a time: the trial measures the cost of a turn, not how many run side by side. */
async function measureBlock(conversations: readonly Conversation[], { redis }: Arena): Promise<Block> {
  const before = await readRedisCounters(redis)
  const times: number[] = []
  for (const conversation of conversations) {
    const startedAt = performance.now()
    await conversation.say(text)
    times.push(performance.now() - startedAt)
  }
  const { aofBytes } = countersBetween(before, await readRedisCounters(redis))
  return { msPerTurn: median(times), bytesPerTurn: aofBytes / conversations.length }
}

async function growConversation(
  troupe: TroupeUnderTest,
  messages: number,
  lengthOf: (conversation: Conversation) => Promise<number>,
): Promise<Conversation> {
  const conversation = await troupe.converse(answererKindName, text)
  for (let length = await lengthOf(conversation), before = 0; length < messages; ) {
    if (length <= before) throw new Error('The history of a conversation does not grow.')
    const turns = Math.min(growingAtOnce, Math.ceil((messages - length) / 2))
    await Promise.all(Array.from({ length: turns }, () => conversation.say(text)))
    before = length
    length = await lengthOf(conversation)
  }
  return conversation
}

function summarise(pairs: readonly { short: Block; long: Block }[]): GrowthOfTurns {
  return {
    shortMs: median(pairs.map(({ short }) => short.msPerTurn)),
    longMs: median(pairs.map(({ long }) => long.msPerTurn)),
    shortBytes: median(pairs.map(({ short }) => short.bytesPerTurn)),
    longBytes: median(pairs.map(({ long }) => long.bytesPerTurn)),
    timeRatio: median(pairs.map(({ short, long }) => long.msPerTurn / short.msPerTurn)),
    bytesRatio: median(pairs.map(({ short, long }) => long.bytesPerTurn / short.bytesPerTurn)),
  }
}
