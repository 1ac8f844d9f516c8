/** The workers of cancels in a storm of spawns. */
import { setTimeout as pause } from 'node:timers/promises'
import { defineWorker, type HandlerDefinition, type Self } from '../../../src/core/definition/define-worker.ts'

export interface NestInput {
  readonly kind: 'nest' | 'careful-nest'
  readonly depth: number
  readonly width: number
  readonly leafMs: number
}

type Write = (what: string, self: Pick<Self, 'id' | 'run' | 'attempt'>, note?: unknown) => void

export function cancelKinds(write: Write): Record<string, HandlerDefinition> {
  /** Spawns as many of its kind as its input says, and replies how each ended. */
  const nest = (
    onCancel?: (self: { readonly id: string; readonly run: number; readonly idempotencyKey: string }) => void,
  ) =>
    defineWorker<string[], NestInput>({
      initial: [],
      async receive(message, self) {
        if (message.kind === 'input') {
          write('begun', self)
          const { kind, depth, width, leafMs } = message.value
          if (depth === 0) {
            self.signal.addEventListener('abort', () => write('aborted', self))
            await pause(leafMs, undefined, { signal: self.signal })
            return self.reply('leaf')
          }
          for (let number = 0; number < width; number++) self.spawn(kind, { kind, depth: depth - 1, width, leafMs })
          return
        }
        if (message.kind !== 'result') return
        self.setState([...self.state, message.status])
        if (self.openChildren === 0) self.reply(self.state)
      },
      ...(onCancel && { onCancel }),
    })
  return {
    nest: nest(),
    'careful-nest': nest((self) => write('undone', { id: self.id, run: self.run, attempt: 1 }, self.idempotencyKey)),
  }
}
