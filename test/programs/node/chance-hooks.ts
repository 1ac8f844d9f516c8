/** Functions of an agent kind that steer its loop by chance: they decide, throw, or take too long (a node of the row waits for them for less than a second). */
import { setTimeout as pause } from 'node:timers/promises'
import type { AgentWorker } from '../../../src/core/definition/agent/define-agent.ts'
import type { HookSelf } from '../../../src/core/definition/agent/iteration-context.ts'
import type { Processor } from '../../../src/core/definition/agent/processors.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { below, chance, one } from './chance-tools.ts'

/** One that takes too long heeds its signal now and then. */
async function trouble({ signal }: Pick<HookSelf, 'signal'>): Promise<void> {
  if (chance(0.05)) throw new Error('A hook breaks.')
  if (chance(0.03)) await pause(1_000, undefined, chance(0.5) ? { signal } : {})
  if (chance(0.2)) await pause(below(60))
}

export function chanceHooks(
  isCalm: () => boolean,
): Pick<AgentWorker, 'hooks' | 'context' | 'onIteration' | 'onCancel'> {
  const text = async (self: HookSelf) => {
    if (isCalm()) return null
    await trouble(self)
    return chance(0.3) ? `Mind this: ${below(100)}.` : null
  }
  const looks: Processor = async (input, self) => {
    if (isCalm() || self.answer !== null) return null
    await trouble(self)
    if (chance(0.03)) throw new TransientError('A processor is busy.')
    const expires = chance(0.5) && { expiresMs: 100 + below(1_000) }
    return one([
      ...Array.from({ length: 8 }, () => null),
      { do: 'continue', context: 'It rains.' },
      { do: 'transform', input: `Changed: ${typeof input === 'string' ? input : 'a picture'}` },
      { do: 'abort', reason: 'Not this.' },
      { do: 'suspend', question: 'May it?', ...expires },
    ] as const)
  }
  return {
    hooks: {
      spawn: (_, self) => text(self),
      prompt: [looks, looks],
      async toolBefore(_, self) {
        if (isCalm()) return null
        await trouble(self)
        return one([
          null,
          null,
          null,
          { do: 'change', arguments: { n: below(9) } },
          { do: 'refuse', reason: 'Not now.' },
        ] as const)
      },
      toolAfter: (_, self) => text(self),
      stop: (_, self) => text(self),
    },
    context: { time: true, facts: { weather: text, mood: () => (chance(0.5) ? 'good' : null) } },
    onIteration: (_, self) => trouble(self),
    onCancel: (self) => trouble(self),
  }
}
