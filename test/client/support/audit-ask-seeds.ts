/** Asks that somebody took out of Redis by hand, or wrote over, and what audit must say of them. */
import { askId } from '../../../src/core/ids.ts'
import { askKey } from '../../../src/store/keys.ts'
import type { Hand, Seed } from './audit-seeds.ts'

const ofRoot = ({ cast }: Hand) => askId(cast.root, 1, 'inbox-0', 1)
const record = (hand: Hand) => askKey(hand.keys.tag, ofRoot(hand))
const field = (name: string, value: string) => (hand: Hand) => hand.redis.hset(record(hand), name, value)

const inOrder: readonly (readonly [what: string, tamper: Seed['tamper'], words: RegExp])[] = [
  ['the record of an open ask', (hand) => hand.redis.del(record(hand)), /ask \S+ is open and has no record/],
  ['an open ask out of the inbox', (hand) => hand.redis.zrem(hand.keys.asks, ofRoot(hand)), /and not in the inbox/],
  [
    'the expiry of an ask',
    (hand) => hand.redis.zrem(hand.keys.timers, `${hand.cast.root}:ask:${ofRoot(hand)}`),
    /ask \S+ expires and is never due/,
  ],
  ['the state of an open ask', field('state', 'answered'), /is open, and its record says "answered"/],
  ['the worker of an ask', field('worker', 'nobody'), /its record is of worker "nobody"/],
  ['the run of an ask', field('run', '7'), /ask \S+ of run 7 is open, and run 1 is under way/],
  [
    'the set of open asks of a worker',
    (hand) => hand.redis.del(hand.of(hand.cast.root).asks),
    /^1 of its signals are open, 0 are there$/,
  ],
  [
    'the set of open asks of a worker, as the inbox sees it',
    (hand) => hand.redis.del(hand.of(hand.cast.root).asks),
    /^ask \S+ is in the inbox and is not open$/,
  ],
]

export const askSeeds: readonly Seed[] = [
  ...inOrder.map(
    ([what, tamper, words]): Seed => ({ what, tamper, words, scene: 'asking', invariant: 'I9', names: 'root' }),
  ),
  {
    what: 'an ask that has ended, back in the inbox',
    scene: 'answered',
    tamper: (hand) => hand.redis.zadd(hand.keys.asks, 1, ofRoot(hand)),
    invariant: 'I9',
    names: 'root',
    words: /^ask \S+ is in the inbox and its record says "answered"$/,
  },
  {
    what: 'a key of an ask',
    scene: 'asking',
    tamper: async (hand) => {
      await hand.redis.del(record(hand))
      await hand.redis.set(record(hand), 'not what it was')
    },
    invariant: 'key',
    names: 'root',
    words: /^key \S+ is a string and should be a hash$/,
  },
]
