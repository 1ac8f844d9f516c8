/**
 * Duty: the only file of the bench that calls the runtime. Beside it, the bench knows only the kinds (troupe-kinds.ts) and the
 * names of keys (measure/troupe-keys.ts).
 */
import { connectInternal } from '../src/client/client.ts'
import { startInternalNode } from '../src/compose.ts'
import type { AgentResult } from '../src/core/history/agent-result.ts'
import type { RunResult } from '../src/core/history/entry.ts'
import type { Waker } from '../src/core/ports/wake.ts'
import { openModels } from '../src/models/model-source.ts'
import { KindMaker } from '../src/runtime/node/kind-maker.ts'
import { agentKindName, benchAgents } from './troupe-agent.ts'
import type { BenchKinds } from './troupe-kinds.ts'

export interface TroupeOptions {
  readonly redisUrl: string
  readonly namespace: string
  /** How many partitions the namespace has; default: one. */
  readonly partitions?: number
  /** Handler kinds to host; openTroupe adds the agents of troupe-agent.ts. */
  readonly kinds: BenchKinds
  /** The number of slots of the node. */
  readonly concurrency: number
  /**
   * `bullmq`: wake-ups go through BullMQ, as users run it. `in-process`: the bound of what is possible, with the same scripts and turns; the process
   * wakes its own slots directly, and opens no BullMQ queue or worker.
   */
  readonly wakeups: 'bullmq' | 'in-process'
}

/** One node and one client in this process. */
export interface TroupeUnderTest {
  /** Creates a job session of this kind and resolves with the result of its run, as the client saw it. Rejects if it failed. */
  run(kind: string, input: unknown): Promise<unknown>
  /** Runs the agent of agent-script.ts in the same way; resolves with its answer. */
  runAgent(question: string): Promise<unknown>
  /** Creates a conversation (`keepOpen`) and resolves when its first run has ended and the client has seen the result. */
  converse(kind: string, input: unknown): Promise<Conversation>
  /** Creates a session whose run does not end by itself; returns what cancels that run, and resolves when that is acknowledged. */
  hold(kind: string, input: unknown): Promise<() => Promise<void>>
  close(): Promise<void>
}

export interface Conversation {
  /** The id of the root, whose history is the conversation. A turn adds two entries to it, one for the message and one for the reply. */
  readonly workerId: string
  /** Sends the next message and resolves with the result of the run that it began. Calls may overlap. */
  say(input: unknown): Promise<unknown>
}

/** Conversations grow to thousands of model calls. */
const asLongAsItTakes = { modelCalls: 1_000_000 }

export async function openTroupe(options: TroupeOptions): Promise<TroupeUnderTest> {
  const { redisUrl, namespace, partitions, concurrency, wakeups } = options
  const maker = new KindMaker(openModels({ env: {} }))
  const kinds = Object.entries({ ...options.kinds, ...benchAgents }).map(([name, kind]) => maker.make(name, kind))
  let waker: Waker | undefined
  const node = await startInternalNode({
    redisUrl,
    namespace,
    partitions,
    kinds,
    concurrency,
    wakeups,
    onWaker: (of) => {
      waker = of
    },
  })
  const troupe = await connectInternal({ redisUrl, namespace, partitions, ...(waker ? { waker } : {}) })
  const run = async (kind: string, input: unknown) => {
    const session = await troupe.sessions.create({ kind, input })
    return replyOf(await session.result())
  }
  return {
    run,
    runAgent: async (question) => ((await run(agentKindName, question)) as AgentResult).text,
    async converse(kind, input) {
      const session = await troupe.sessions.create({ kind, input, keepOpen: true, limits: asLongAsItTakes })
      await session.result({ run: 1 })
      return {
        workerId: session.rootId,
        async say(text) {
          // Each input of this kind is one run, and positions in the lane count from 0.
          const { position } = await session.root.send(text)
          return replyOf(await session.result({ run: position + 1 }))
        },
      }
    },
    async hold(kind, input) {
      const session = await troupe.sessions.create({ kind, input })
      return async () => {
        if (!(await session.root.cancelRun())) throw new Error('a run of the bench was not in progress')
      }
    },
    async close() {
      await troupe.close()
      await node.stop()
      await maker.close()
    },
  }
}

function replyOf(result: RunResult): unknown {
  if (result.status !== 'completed') throw new Error(`a run of the bench ${result.status}`)
  return result.value
}
