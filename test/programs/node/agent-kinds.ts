/**
 * The agents of fault tests. Each tool writes down in the ledger what it really does, before and after its effect, and takes its node
 * down at the moment that the plan of its session names, once for each worker.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type AgentDefinition, defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool, type Tool, type ToolContext } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { appendLine, type LedgerLine } from '../../support/fault/ledger.ts'
import type { NodeOrder } from './node-order.ts'

/** A note in the ledger about a call. */
export interface EffectNote {
  readonly tool: string
  readonly label: string
  readonly callId: string
  readonly key: string
}

const labelled = z.object({ label: z.string(), plan: z.string() })

export function agentKinds({ name, ledger }: Pick<NodeOrder, 'name' | 'ledger'>): Record<string, AgentDefinition> {
  const write = (what: string, context: Pick<ToolContext, 'workerId' | 'attempt'>, note: unknown) =>
    appendLine(ledger, {
      what,
      worker: context.workerId,
      run: 1,
      attempt: context.attempt,
      node: name,
      pid: process.pid,
      at: Date.now(),
      note,
    })
  const lines = () =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LedgerLine)

  const moment = (kind: string, tool: string, when: string, plan: string, context: ToolContext) => {
    if (plan !== `${kind}/${tool}/${when}`) return
    if (lines().some(({ what, worker }) => what === 'killed' && worker === context.workerId)) return
    write('killed', context, { plan })
    process.kill(process.pid, 'SIGKILL')
  }

  const effect = async (kind: string, tool: string, label: string, plan: string, context: ToolContext) => {
    const note: EffectNote = { tool, label, callId: context.toolCallId, key: context.idempotencyKey }
    write('called', context, note)
    moment(kind, tool, 'before', plan, context)
    await pause(5)
    context.signal.throwIfAborted()
    write('effect', context, note)
    moment(kind, tool, 'after', plan, context)
    await pause(5)
    return `${tool} ${label} done`
  }

  const reconcile = async (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
    const keyOf = ({ note }: LedgerLine) => (note as EffectNote).key
    const isDone = lines().some((line) => line.what === 'effect' && keyOf(line) === idempotencyKey)
    write('reconciled', { workerId: '', attempt: 0 }, { key: idempotencyKey, isDone })
    return isDone ? ({ done: true, output: 'it was done' } as const) : ({ done: false } as const)
  }

  const tools = (kind: string): Tool[] => {
    const make = (tool: string, more: Pick<Tool, 'effect'> & Partial<Pick<Tool, 'reconcile'>>) =>
      defineTool({
        name: tool,
        description: `The tool ${tool}.`,
        approval: 'never',
        input: labelled,
        run: ({ label, plan }, context) => effect(kind, tool, label, plan, context),
        ...more,
      })
    return [
      make('stamp', { effect: 'once' }),
      make('mail', { effect: 'once', reconcile }),
      make('put', { effect: 'idempotent' }),
      defineTool({
        name: 'add',
        description: 'Adds two numbers.',
        effect: 'pure',
        input: z.object({ a: z.number(), b: z.number(), plan: z.string() }),
        async run({ a, b, plan }, context) {
          moment(kind, 'add', 'before', plan, context)
          await pause(3)
          moment(kind, 'add', 'after', plan, context)
          return a + b
        },
      }),
    ]
  }

  const single = (
    kind: string,
    onUnknown: 'fail' | 'tell',
    asked?: typeof reconcile,
    more: Tool[] = [],
  ): AgentDefinition =>
    defineWorker({
      instructions: ({ id }) => `kind=${kind} worker=${id}`,
      onUnknown,
      tools: [
        ...more,
        defineTool({
          name: 'once',
          description: 'Does it once.',
          effect: 'once',
          approval: 'never',
          input: labelled,
          run: ({ label, plan }, context) => effect(kind, 'once', label, plan, context),
          ...(asked ? { reconcile: asked } : {}),
        }),
      ],
    })
  const deaf = async (input: unknown, context: { readonly idempotencyKey: string }) => {
    await reconcile(input, context)
    throw new Error('the other side does not answer')
  }

  /** Works on while its siblings end, and takes its node down once, as the last of them. */
  const linger = (deaths: number) =>
    defineTool({
      name: 'linger',
      description: 'Takes long.',
      effect: 'idempotent',
      input: labelled,
      async run(_input, context) {
        const mine = lines().filter(({ what, worker }) => what === 'killed' && worker === context.workerId)
        if (mine.length >= deaths) return 'at last'
        await pause(500)
        write('killed', context, {})
        process.kill(process.pid, 'SIGKILL')
        return 'never'
      },
    })
  const breaks = defineTool({
    name: 'break',
    description: 'Fails for good.',
    effect: 'idempotent',
    input: labelled,
    run() {
      throw new TerminalError('the disk is gone')
    },
  })

  const delegating = (kind: string, child?: string): AgentDefinition =>
    defineWorker({
      description: `The kind ${kind}.`,
      instructions: ({ id }) => `kind=${kind} worker=${id}`,
      tools: tools(kind),
      onUnknown: 'tell',
      ...(child ? { spawns: [child] } : {}),
    })
  return {
    root: delegating('root', 'mid'),
    mid: delegating('mid', 'leaf'),
    leaf: delegating('leaf'),
    'single-fail': single('single-fail', 'fail'),
    'single-tell': single('single-tell', 'tell'),
    'single-asked': single('single-asked', 'fail', reconcile),
    'single-deaf': single('single-deaf', 'fail', deaf),
    // The first death is that of the once tool.
    'double-fail': single('double-fail', 'fail', undefined, [linger(2)]),
    broken: single('broken', 'fail', undefined, [linger(1), breaks]),
  }
}
