/** Duty: what the kind of a random life says beside its tools: hooks, limits, and how it goes on where there are two ways. */
import type { AgentHooks } from '../../src/core/definition/agent/agent-hooks.ts'
import type { AgentWorker } from '../../src/core/definition/agent/define-agent.ts'
import type { Processor } from '../../src/core/definition/agent/processors.ts'
import { TerminalError, TransientError } from '../../src/core/errors.ts'
import type { LifeChances } from './life-chances.ts'

type Kind = Omit<AgentWorker, 'instructions'>

const limits: readonly NonNullable<Kind['limits']>[] = [
  { iterations: 1 },
  { iterations: 3 },
  { callsPerReply: 2 },
  { toolCalls: 3 },
  { toolsAtOnce: 1 },
  { blankStops: 1 },
  { sameErrors: 1 },
  { toolFailures: 1 },
]

/** `happens`: called in each hook; what may come from outside comes then. It returns false near the end of the life, when nothing may go wrong any more. */
export function lifeKind(chances: LifeChances, happens: () => Promise<boolean>): Kind {
  const chance = (most: number) => chances.chance(most)
  const one = <Item>(items: readonly Item[]) => chances.one(items)
  const errors = [new Error('hook broke'), new TransientError('hook later'), new TerminalError('hook over')]
  /** Calls what a hook says, unless it fails or says nothing. */
  const hook =
    <Said>(say: () => Said) =>
    async (): Promise<Said | null> => {
      const mayFail = await happens()
      if (mayFail && chance(0.05)) throw one(errors)
      return mayFail && chance(0.3) ? say() : null
    }
  const text = () => `hook says ${chances.below(1_000)}`
  const processor = (name: string): Processor => {
    const look = hook(() => one(['suspend', 'transform', 'abort', 'continue'] as const))
    const processes: Processor = async (input, { answer }) => {
      const says = await look()
      if (says === 'suspend') return answer === null ? { do: says, question: `May ${name}?` } : null
      if (says === 'transform') return { do: says, input: `${typeof input === 'string' ? input : 'task-x.'} ok` }
      if (says === 'abort') return { do: says, reason: 'bad' }
      return says && { do: says, context: 'context' }
    }
    return Object.defineProperty(processes, 'name', { value: name })
  }
  const hooks: AgentHooks = {
    ...(chance(0.3) && { spawn: hook(text) }),
    ...(chance(0.3) && { prompt: [processor('first'), processor('second')] }),
    ...(chance(0.3) && {
      toolBefore: hook(() =>
        one([
          { do: 'change', arguments: { n: 7 } },
          { do: 'refuse', reason: 'no' },
        ] as const),
      ),
    }),
    ...(chance(0.3) && { toolAfter: hook(text) }),
    ...(chance(0.3) && { stop: hook(text) }),
  }
  return {
    hooks,
    ...(chance(0.3) && { mergeInput: true }),
    ...(chance(0.3) && { mayTerminate: true }),
    ...(chance(0.3) && { onUnknown: 'tell' as const }),
    ...(chance(0.3) && { approval: { onDeny: 'others' as const } }),
    ...(chance(0.3) && { continues: chances.below(3) }),
    ...(chance(0.4) && { limits: one(limits) }),
  }
}
