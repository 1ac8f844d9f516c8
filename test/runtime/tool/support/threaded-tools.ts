/** Tools that run in threads, each with something that may happen there. */
import { isMainThread, resourceLimits, threadId } from 'node:worker_threads'
import { z } from 'zod'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../../src/core/errors.ts'

const thread = import.meta.url
const common = { description: 'For tests.', effect: 'pure', thread } as const

export const whereTool = defineTool({ ...common, name: 'where', run: () => ({ isMainThread, threadId }) })

export const limitsTool = defineTool({ ...common, name: 'limits', run: () => resourceLimits })

export const contextTool = defineTool({
  ...common,
  name: 'context',
  input: z.object({ file: z.string(), when: z.date() }),
  async run({ file, when }, context) {
    const { signal, workspace, log, progress, setFact, ...plain } = context
    log.info('seen', { deep: { n: 1 } })
    log.warn('with what cannot be cloned', { f: () => 1 })
    progress({ at: 'half' })
    setFact('year', when.getFullYear())
    return { ...plain, real: await workspace?.resolve(file), aborted: signal.aborted }
  },
})

export const throwTool = defineTool({
  ...common,
  name: 'throw',
  input: z.enum(['plain', 'transient', 'terminal']),
  run(sort) {
    if (sort === 'transient') throw new TransientError('the disk is busy', { retryAfterMs: 7 })
    if (sort === 'terminal') throw new TerminalError('no way', { code: 'circuit_open' })
    throw new Error('out of paper')
  },
})

/** Tells that it began, and ends when its signal fires. */
export const obedientTool = defineTool({
  ...common,
  name: 'obedient',
  run: (_input, { signal, progress, log }) =>
    new Promise((resolve) => {
      progress('began')
      const keep = setInterval(() => {}, 60_000)
      signal.addEventListener('abort', () => {
        clearInterval(keep)
        progress('late')
        log.info('heard', { reason: (signal.reason as Error).message })
        resolve('late')
      })
    }),
})

export const endlessTool = defineTool({
  ...common,
  name: 'endless',
  run(_input, { progress }) {
    progress('began')
    for (;;);
  },
})

export const exitTool = defineTool({ ...common, name: 'exit', run: () => process.exit(3) })

/** Ends its thread with its last words on their way. */
export const talkativeTool = defineTool({
  ...common,
  name: 'talkative',
  run(_input, { log }) {
    for (let line = 1; line <= 1_000; line += 1) log.info(String(line))
    process.exit(3)
  },
})

/** Ends its thread after its call. */
export const leaveTool = defineTool({
  ...common,
  name: 'leave',
  run() {
    setTimeout(() => process.exit(0), 10)
    return 'left'
  },
})

export const strayTool = defineTool({
  ...common,
  name: 'stray',
  run: () =>
    new Promise(() => {
      setImmediate(() => {
        throw new Error('thrown beside the call')
      })
    }),
})

export const greedyTool = defineTool({
  ...common,
  name: 'greedy',
  run() {
    const hoard: string[][] = []
    for (;;) hoard.push(Array.from({ length: 100_000 }, (_, n) => `${n}`))
  },
})

/** The same in long strings: all of them live on from each young collection. */
export const greedyForTextTool = defineTool({
  ...common,
  name: 'greedy_for_text',
  run() {
    const hoard: string[] = []
    for (;;) hoard.push('x'.repeat(10_000) + Math.random())
  },
})

/** Ends when the first number of a shared buffer tells it; the second counts how often it began. */
export const waitTool = defineTool<{ gate: Int32Array }>({
  ...common,
  name: 'wait',
  run({ gate }, { progress }) {
    progress('began')
    Atomics.add(gate, 1, 1)
    Atomics.wait(gate, 0, 0)
    return threadId
  },
})

export const strangeTool = defineTool({ ...common, name: 'strange', run: () => () => 1 })
