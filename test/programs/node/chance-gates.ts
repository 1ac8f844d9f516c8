/** Kinds of chance-kinds.ts with gates. They write into the ledger when a run is in progress (`in`) and when it is about to end (`out`). */
import { setTimeout as pause } from 'node:timers/promises'
import { defineWorker, type Self, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import { appendLine } from '../../support/fault/ledger.ts'
import { below, chance } from './chance-tools.ts'
import type { NodeOrder } from './node-order.ts'

/** How many runs of a key are in progress at once at most, by kind. */
export const gatedMost: Readonly<Record<string, number>> = { limited: 2, crowd: 3 }

/** The note of a ledger line `in` or `out`. */
export interface Gated {
  readonly kind: string
  readonly key: string
  readonly sessionId: string
}

const keyOf = (input: unknown) => `key ${((input as { n?: number } | null)?.n ?? 0) % 2}`

/** They have no children: kinds with a limit that wait for each other would wait for ever. */
export function chanceGates(
  { name, ledger }: Pick<NodeOrder, 'name' | 'ledger'>,
  isCalm: () => boolean,
): Record<string, WorkerDefinition> {
  const write = (
    what: 'in' | 'out',
    { id, run, attempt, sessionId }: Self<unknown, unknown>,
    gate: Omit<Gated, 'sessionId'>,
  ) =>
    appendLine(ledger, {
      what,
      worker: id,
      run,
      attempt,
      node: name,
      pid: process.pid,
      at: Date.now(),
      note: { ...gate, sessionId } satisfies Gated,
    })
  return {
    limited: defineWorker({
      concurrency: { most: gatedMost.limited as number, key: keyOf },
      rate: { most: 20, perMs: 1_000 },
      async receive(message, self) {
        if (isCalm()) return self.reply('calm')
        const gate = { kind: 'limited', key: keyOf(message.kind === 'input' ? message.value : null) }
        write('in', self, gate)
        await pause(below(100))
        write('out', self, gate)
        if (chance(0.2)) throw new Error('The handler breaks.')
        self.reply({ n: 1 })
      },
    }),
    /** It holds its place while it is parked. */
    crowd: defineWorker({
      concurrency: { most: gatedMost.crowd as number },
      async receive(message, self) {
        if (isCalm()) return self.reply('calm')
        const gate = { kind: 'crowd', key: 'all' }
        if (message.kind === 'input') {
          write('in', self, gate)
          if (chance(0.7)) return self.after(below(400), null)
          await pause(below(50))
        }
        write('out', self, gate)
        self.reply({ n: 1 })
      },
    }),
  }
}
