/**
 * Duty: an agent as one writes it by hand on BullMQ: a job per run, the history as one JSON value that is rewritten with every
 * message. A job that is run again after a crash goes on from the history, so each step is durable, as in troupe; unlike
 * there, nothing stops a stalled job and its second run from writing the same history.
 */
import { randomUUID } from 'node:crypto'
import { Queue, Worker } from 'bullmq'
import { type AgentMessage, agentAnswer, agentQuestion, replyOfModel, resultOfTool } from '../agent-script.ts'
import { type Contestant, fewSlots, type OpenContestant, type Place, runsInFlight, slots } from '../contestant.ts'
import { bullmqConnection, forgetFinished, listenForCompletions, plainConnection } from './connections.ts'
import { JsonHistory } from './json-history.ts'

export const handwrittenAgent: Contestant = {
  id: 'agent-handwritten',
  name: 'hand-written BullMQ agent, JSON history',
  unit: 'run',
  inFlight: runsInFlight,
  slots,
  open: (place) => openHandwrittenAgent(place, slots),
}

/** For scale: half the runs wait, which only pays when a model answers at once, and spares BullMQ a third of its scripts. */
export const handwrittenAgentFewSlots: Contestant = {
  id: 'agent-handwritten-few-slots',
  name: 'the same with half the slots',
  unit: 'run',
  inFlight: runsInFlight,
  slots: fewSlots,
  open: (place) => openHandwrittenAgent(place, fewSlots),
}

interface RunData {
  readonly runId: string
  readonly question: string
}

async function openHandwrittenAgent({ redisUrl, namespace }: Place, concurrency: number): Promise<OpenContestant> {
  const connection = bullmqConnection(redisUrl)
  const queue = new Queue<RunData, string>('runs', { prefix: namespace, connection })
  const redis = plainConnection(redisUrl)
  const worker = new Worker<RunData, string>(
    'runs',
    async ({ data }) => runAgent(await JsonHistory.read(redis, `${namespace}:history:${data.runId}`), data.question),
    { prefix: namespace, connection, concurrency },
  )
  const completions = await listenForCompletions('runs', namespace, connection)
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const runId = randomUUID()
      const result = completions.of(runId)
      await queue.add('run', { runId, question: agentQuestion }, { jobId: runId, ...forgetFinished })
      if ((await result) !== agentAnswer) throw new Error('The hand-written agent gave another answer.')
    },
    async close() {
      await worker.close()
      await Promise.all([completions.close(), queue.close()])
      redis.disconnect()
    },
  }
}

/** The loop of every agent; where it begins depends on what is recorded already. */
async function runAgent(history: JsonHistory, question: string): Promise<string> {
  if (history.messages.length === 0) await history.append({ role: 'user', content: question })
  for (;;) {
    const last = history.messages.at(-1) as AgentMessage
    if (last.role !== 'assistant') await history.append(replyOfModel(history.messages))
    else if (last.toolCall !== undefined) await history.append(resultOfTool(last.toolCall))
    else return last.content
  }
}
