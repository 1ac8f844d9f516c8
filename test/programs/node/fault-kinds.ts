/** The workers of fault tests. Each writes down in the ledger what it really does. */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineWorker, type HandlerDefinition, type Self } from '../../../src/core/definition/define-worker.ts'
import type { Message } from '../../../src/core/worker/message/message.ts'
import { passes } from '../../support/fault/harm/crash-moment.ts'
import { appendLine } from '../../support/fault/ledger.ts'
import { cancelKinds } from './cancel-kinds.ts'
import type { NodeOrder } from './node-order.ts'

export interface TreeInput {
  readonly children: number
  readonly steps: number
  readonly stepMs: number
  /** The last step is repeated until the ledger has a line of this sort. */
  readonly until?: string
}

export interface BlockInput {
  readonly ms: number
  /** `busy` takes all the processor's time; `waiting` waits in a call. */
  readonly how: 'busy' | 'waiting'
  /** True: at the first start only; otherwise at each start. */
  readonly once?: boolean
}

export const gatedMost = 2

interface LeafInput extends Omit<TreeInput, 'children'> {
  readonly value: number
}

/** What a tree of `children` leaves replies: the sum of the squares of their numbers. */
export function treeResult({ children }: TreeInput): { sum: number; results: number } {
  let sum = 0
  for (let value = 1; value <= children; value++) sum += value * value
  return { sum, results: children }
}

function hasLine(ledger: string, what: string): boolean {
  return readFileSync(ledger, 'utf8').includes(`"what":"${what}"`)
}

export function faultKinds(order: Pick<NodeOrder, 'name' | 'ledger'>): Record<string, HandlerDefinition> {
  const write = (what: string, self: Pick<Self, 'id' | 'run' | 'attempt'>, note?: unknown) => {
    passes('receive')
    appendLine(order.ledger, {
      what,
      worker: self.id,
      run: self.run,
      attempt: self.attempt,
      node: order.name,
      pid: process.pid,
      at: Date.now(),
      ...(note === undefined ? {} : { note }),
    })
    passes('effect')
  }

  return {
    ...cancelKinds(write),

    /** Spawns leaves and adds up their squares, in its state. */
    tree: defineWorker<{ sum: number; results: number }>({
      initial: { sum: 0, results: 0 },
      receive(message, self) {
        if (message.kind === 'input') {
          const { children, ...work } = message.value as TreeInput
          write('root', self)
          self.setState({ sum: 0, results: 0 })
          for (let value = 1; value <= children; value++) self.spawn('leaf', { value, ...work })
        }
        if (message.kind === 'result') {
          if (message.status !== 'completed') return self.fail(`${message.name} ended as ${message.status}`)
          self.setState({ sum: self.state.sum + (message.value as number), results: self.state.results + 1 })
          if (self.openChildren === 0) self.reply(self.state)
        }
      },
    }),

    /** Works in steps, each on a durable timer, counts them in its state, and replies the square of its number. */
    leaf: defineWorker<{ value: number; stepsLeft: number; stepMs: number; until?: string | undefined }>({
      initial: { value: 0, stepsLeft: 0, stepMs: 0 },
      async receive(message, self) {
        if (message.kind === 'input') {
          const { value, steps, stepMs, until } = message.value as LeafInput
          write('leaf', self, value)
          self.setState({ value, stepsLeft: steps, stepMs, until })
        } else {
          const { stepsLeft, until } = self.state
          const repeats = stepsLeft === 1 && until !== undefined && !hasLine(order.ledger, until)
          if (!repeats) self.setState({ ...self.state, stepsLeft: stepsLeft - 1 })
        }
        await pause(5)
        const { value, stepsLeft, stepMs } = self.state
        if (stepsLeft > 0) self.after(stepMs, stepsLeft)
        else self.reply(value * value)
      },
    }),

    /** Works for a while, looking at its signal or not. `after`: its time begins when the ledger has a line of this sort. */
    slow: defineWorker({
      async receive(message, self) {
        const { ms, deaf, after } = message.value as { ms: number; deaf?: boolean; after?: string }
        write('begun', self, message.value)
        if (after !== undefined) while (!hasLine(order.ledger, after)) await pause(20)
        self.signal.addEventListener('abort', () => write('aborted', self))
        await (deaf ? pause(ms) : pause(ms, undefined, { signal: self.signal }).catch(() => {}))
        if (!self.signal.aborted || deaf) write('done', self, message.value)
        self.reply({ ms })
      },
    }),

    /** A kind whose gate lets two runs be in progress at once. Each says when it begins and when it is about to end; `parkMs`: in between it is parked. */
    gated: defineWorker({
      concurrency: { most: gatedMost },
      async receive(message, self) {
        if (message.kind === 'input') {
          write('in', self)
          const { parkMs } = message.value as { parkMs?: number }
          if (parkMs !== undefined) return self.after(parkMs, null)
          await pause(10)
        }
        write('out', self)
        self.reply(null)
      },
    }),

    /** Takes its node down while it is told to, and answers otherwise. */
    deadly: defineWorker({
      receive(message, self) {
        write('deadly', self, message.value)
        if (message.value === 'kill') process.kill(process.pid, 'SIGKILL')
        if (message.value === 'exit') process.exit(3)
        self.reply('alive')
      },
    }),

    /** Takes three steps. The first time, its node dies in the second one. */
    stepper: defineWorker({
      async receive(_, self) {
        const values: unknown[] = []
        for (const name of ['first', 'second', 'third'])
          values.push(
            await self.step(name, (key) => {
              write(name, self, key)
              if (name === 'second' && isFirst(`${order.ledger}.${self.id}`)) process.kill(process.pid, 'SIGKILL')
              return process.pid
            }),
          )
        self.reply(values)
      },
    }),

    /** Blocks its process: meanwhile no turn of the process sees a timer, a reply or a signal. */
    blocker: defineWorker({
      receive(message, self) {
        const { ms, how, once } = message.value as BlockInput
        if (!once || isFirst(`${order.ledger}.${self.id}`)) {
          write('blocked', self, message.value)
          block(ms, how)
          write('unblocked', self)
        }
        self.reply('done')
      },
    }),

    /** Spawns the child that it is told to, and replies how it ended. */
    'parent-of': defineWorker({
      receive(message, self) {
        if (message.kind !== 'input') return self.reply(describe(message))
        const { kind, input } = message.value as { kind: string; input: unknown }
        self.spawn(kind, input)
      },
    }),

    /** Spawns a deadly worker, and replies how it ended. */
    'deadly-parent': defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.spawn('deadly', message.value)
        else self.reply(describe(message))
      },
    }),

    /** Gathers the answers of two harmless children, and dies a little after it was given the second. */
    'dies-of-second': defineWorker({
      await: 'all',
      async receive(message, self) {
        if (message.kind === 'input') for (const number of [1, 2]) self.spawn('deadly', number)
        if (message.kind !== 'result') return
        write('gathered', self, message.call)
        if (message.call !== 2) return
        await pause(20)
        process.kill(process.pid, 'SIGKILL')
      },
    }),

    /** A chain of steps in one turn: each step sends the next to itself, so that a drain has steps to end between. */
    chain: defineWorker<{ steps: number }>({
      initial: { steps: 0 },
      async receive(message, self) {
        const { left, ms } = message.value as { left: number; ms: number }
        write('link', self, left)
        await pause(ms)
        self.setState({ steps: self.state.steps + 1 })
        if (left > 1) self.send(self.id, { left: left - 1, ms })
        self.reply(self.state.steps)
      },
    }),

    /** Adds up what it is sent, in a conversation; each message has a reply of its own. */
    tally: defineWorker<{ count: number; sum: number }>({
      initial: { count: 0, sum: 0 },
      async receive(message, self) {
        await pause(2)
        const { count, sum } = self.state
        self.setState({ count: count + 1, sum: sum + (message.value as number) })
        self.reply(self.state)
      },
    }),

    /** Passes each value on to the worker that it is told, each in a run of its own. */
    forwarder: defineWorker({
      receive(message, self) {
        const { to, value } = message.value as { to: string | null; value: number }
        if (to === null) return self.reply(null)
        write('forwarded', self, value)
        self.send(to, value)
        self.reply(value)
      },
    }),

    /** Asks, and replies with the answer, or with `nobody` if no answer comes within `ms`. */
    asker: defineWorker({
      receive(message, self) {
        const { ms } = (message.value ?? {}) as { readonly ms?: number }
        if (message.kind !== 'input') return self.reply(message.value)
        self.ask('Who is there?', ms === undefined ? {} : { expiresMs: ms, onExpiry: 'nobody' })
      },
    }),

    /** Waits for an hour. */
    sleeper: defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.after(3_600_000, null)
      },
    }),

    /** Spawns as many children as it is told, each of which does the same, until a spawn is refused; replies how many runs went well below it. */
    bomb: defineWorker<{ done: number }>({
      initial: { done: 0 },
      receive(message, self) {
        if (message.kind === 'input') {
          self.setState({ done: 0 })
          for (let number = 0; number < (message.value as number); number++) self.spawn('bomb', message.value)
        } else if (message.kind === 'result' && message.status === 'completed') {
          self.setState({ done: self.state.done + 1 + (message.value as number) })
        }
        if (self.openChildren === 0) self.reply(self.state.done)
      },
    }),

    /** A tree of `depth` levels, `width` at each; the leaves wait for an hour. */
    deep: defineWorker({
      receive(message, self) {
        if (message.kind !== 'input') return
        const { depth, width } = message.value as { depth: number; width: number }
        if (depth === 0) return self.after(3_600_000, null)
        for (let number = 0; number < width; number++)
          self.spawn('deep', { depth: depth - 1, width: number === 0 ? width : 1 })
      },
    }),

    quick: defineWorker({ receive: (message, self) => self.reply(message.value) }),

    echo: defineWorker({
      receive(message, self) {
        write('echo', self, message.value)
        self.reply(message.value)
      },
    }),
  }
}

/** Whether no process has asked this before: the answer is a file, so that it outlives what blocks. */
function isFirst(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'))
    return true
  } catch {
    return false
  }
}

function block(ms: number, how: BlockInput['how']): void {
  const until = performance.now() + ms
  if (how === 'waiting') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  while (performance.now() < until);
}

function describe(message: Message): unknown {
  if (message.kind !== 'result') return null
  return { status: message.status, code: message.failure?.code ?? null, child: message.from }
}
