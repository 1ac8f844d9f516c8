/** Duty: the kinds of the scenes: each takes one limit to its end. */
import { defineWorker } from 'troupe'
import { z } from 'zod'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const text = (bytes: number) => 'x'.repeat(bytes)

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
/** Takes what comes, and says nothing of it. */
const sink = defineWorker({ receive: (_, self) => self.reply(null) })
/** Waits until it is cancelled, or for a minute. */
const sleeper = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.after(60_000, null)
    else self.reply(null)
  },
})
/** Replies with 100 KB, in no order. */
const large = defineWorker({
  async receive(_, self) {
    await wait(Math.random() * 200)
    self.reply(text(100_000))
  },
})

export interface Order {
  readonly kind: 'echo' | 'sleeper' | 'large' | 'copier' | 'asker' | 'clock' | 'small' | 'grand'
  readonly count: number
  readonly bytes: number
  /** What each child receives, in place of so many bytes. */
  readonly input?: number
  /** Each child gets a name and a kind other than its sibling's: then none has the record of another. */
  readonly named?: boolean
}
const parent = defineWorker<{ left: number }, Order>({
  state: z.object({ left: z.number() }),
  initial: { left: 0 },
  spawns: ['echo', 'other', 'sleeper', 'large', 'copier', 'asker', 'clock', 'small', 'grand'],
  await: 'all',
  limits: { children: 1_000 },
  receive(message, self) {
    if (message.kind !== 'input') return self.openChildren === 0 ? self.reply(null) : undefined
    const { kind, count, bytes, input, named } = message.value
    const name = (index: number) => `${index} ${text(60 - String(index).length)}`
    for (let index = 0; index < count; index++) {
      if (named) self.spawn(index % 2 === 0 ? kind : 'other', text(bytes), { name: name(index) })
      else self.spawn(kind, input ?? text(bytes))
    }
  },
})
/** Has as many children that reply with 1 900 bytes as its input says, 490 in one step and 50 at once, and waits for all of them. */
const crowd = defineWorker<number, number>({
  initial: 0,
  spawns: ['small'],
  await: 'all',
  childrenAtOnce: 50,
  receive(message, self) {
    if (message.kind === 'result') return self.openChildren === 0 ? self.reply(null) : undefined
    const left = message.kind === 'input' ? message.value : self.state
    const now = Math.min(left, 490)
    for (let index = 0; index < now; index++) self.spawn('small', 1)
    self.setState(left - now)
    if (left > now) self.after(0, 'more')
  },
})
/** Spawns as many children that wait as its input says. */
const grand = defineWorker<null, number>({
  spawns: ['sleeper'],
  limits: { children: 1_000 },
  receive(message, self) {
    if (message.kind === 'input') for (let index = 0; index < message.value; index++) self.spawn('sleeper', 1)
  },
})
/** Sets as many timers as its input says, 1 490 in one step, and waits for them. */
const clock = defineWorker<number, number>({
  initial: 0,
  receive(message, self) {
    if (message.kind === 'timer' && message.value !== 'more') return
    const left = message.kind === 'input' ? message.value : self.state
    const now = Math.min(left, 1_490)
    for (let index = 0; index < now; index++) self.after(600_000 + index, null)
    self.setState(left - now)
    if (left > now) self.after(0, 'more')
  },
})
/** Asks as many questions as its input says, 740 in one step. If that is above 0, it waits for the answers; else its run ends a second later. */
const asker = defineWorker<number, number>({
  initial: 0,
  receive(message, self) {
    if (message.kind === 'timer' && message.value === 'end') return self.reply(null)
    const left = message.kind === 'input' ? message.value : self.state
    const now = Math.min(Math.abs(left), 740)
    for (let index = 0; index < now; index++) self.ask('May I?')
    self.setState(left > 0 ? left - now : left + now)
    if (Math.abs(left) > now) self.after(0, 'more')
    else if (left < 0) self.after(1_000, 'end')
  },
})
/** Sends to these workers in one step. */
const sender = defineWorker<null, { readonly ids: readonly string[]; readonly value: number; readonly when?: 'steer' }>(
  {
    receive(message, self) {
      if (message.kind !== 'input') return
      const { ids, value, when } = message.value
      for (const id of ids) self.send(id, text(value), when && { when })
      self.reply(null)
    },
  },
)
/** Passes as much as one receive may: it keeps what it received, replies with the rest, and its parent gets that. */
const copier = defineWorker<string, string>({
  initial: '',
  receive(message, self) {
    self.setState(message.kind === 'input' ? message.value.slice(0, 80_000) : '')
    self.reply(text(1_000_000))
  },
})
/** Sets timers of a megabyte, and receives them. */
const alarm = defineWorker<number, number>({
  initial: 0,
  receive(message, self) {
    if (message.kind === 'input') for (let index = 0; index < message.value; index++) self.after(3_000, text(1_000_000))
    else if (self.state === 1) self.reply(null)
    else self.setState(1)
  },
})
/** Replies with as much as stands in the lane of its parent. */
const small = defineWorker({ receive: (_, self) => self.reply(text(1_900)) })
/** Its run waits for a place of its key. */
const gated = defineWorker<null, { readonly key: number }>({
  concurrency: { most: 1, key: 'key' },
  async receive(_, self) {
    await wait(50)
    self.reply(null)
  },
})
/** Runs until its signal fires, or for a minute. */
const busy = defineWorker<null, unknown>({
  async receive(_, self) {
    await Promise.race([wait(60_000), new Promise((resolve) => self.signal.addEventListener('abort', resolve))])
    self.reply(null)
  },
})

export const workers = {
  echo,
  other: echo,
  sink,
  sleeper,
  large,
  parent,
  clock,
  asker,
  sender,
  copier,
  alarm,
  small,
  grand,
  crowd,
  gated,
  busy,
}
