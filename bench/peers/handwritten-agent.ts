/**
 * Duty: an agent written by hand on BullMQ: one job per run; the history is one JSON value that is rewritten with every
 * message. After a crash the job runs again and goes on from the history, so each step is durable, as in troupe. Unlike
 * in troupe, nothing keeps a stalled job and its second run from writing the same history.
 */
import { randomUUID } from 'node:crypto'
import { type Job, Queue, Worker } from 'bullmq'
import { type AgentMessage, agentAnswer, agentQuestion, replyOfModel, resultOfTool } from '../agent-script.ts'
import { type Contestant, fewSlots, type OpenContestant, type Place, runsInFlight, slots } from '../contestant.ts'
import {
  bullmqConnection,
  forgetFinished,
  keepRecent,
  listenForCompletions,
  openQueueEvents,
  plainConnection,
  waitersMax,
} from './connections.ts'
import { JsonHistory } from './json-history.ts'

export const handwrittenAgent: Contestant = {
  id: 'agent-handwritten',
  name: 'hand-written BullMQ agent, JSON history',
  unit: 'run',
  inFlight: runsInFlight,
  slots,
  open: openHandwrittenAgent,
}

/**
 * The same agent, tuned by somebody who knows BullMQ well; it shows the scale. It uses ids of its own and one listener instead of
 * `waitUntilFinished`, reads the history once per job, and has half the slots. Fewer slots help only if the model answers
 * at once; they spare BullMQ a third of its scripts.
 */
export const handwrittenAgentFewSlots: Contestant = {
  id: 'agent-handwritten-few-slots',
  name: 'the same, tuned, with half the slots',
  unit: 'run',
  inFlight: runsInFlight,
  slots: fewSlots,
  open: openTunedAgent,
}

interface RunData {
  readonly runId: string
  readonly question: string
}

async function openHandwrittenAgent(place: Place): Promise<OpenContestant> {
  const { redis, queue, worker, settings } = await openAgentQueue(place, slots, false)
  const events = await openQueueEvents('runs', settings.prefix, settings.connection)
  return {
    async perform() {
      const job = await queue.add('run', { runId: randomUUID(), question: agentQuestion }, keepRecent)
      const answer = await job.waitUntilFinished(events)
      if (answer !== agentAnswer) throw new Error('The hand-written agent gave another answer.')
    },
    async close() {
      await worker.close()
      await Promise.all([events.close(), queue.close()])
      redis.disconnect()
    },
  }
}

async function openTunedAgent(place: Place): Promise<OpenContestant> {
  const { redis, queue, worker, settings } = await openAgentQueue(place, fewSlots, true)
  const completions = await listenForCompletions('runs', settings.prefix, settings.connection)
  return {
    async perform() {
      const runId = randomUUID()
      const result = completions.of(runId)
      await queue.add('run', { runId, question: agentQuestion }, { jobId: runId, ...forgetFinished })
      if ((await result) !== agentAnswer) throw new Error('The tuned agent gave another answer.')
    },
    async close() {
      await worker.close()
      await Promise.all([completions.close(), queue.close()])
      redis.disconnect()
    },
  }
}

async function openAgentQueue({ redisUrl, namespace }: Place, concurrency: number, trusted: boolean) {
  const settings = { prefix: namespace, connection: bullmqConnection(redisUrl) }
  const queue = new Queue<RunData, string>('runs', settings)
  queue.setMaxListeners(waitersMax)
  const redis = plainConnection(redisUrl)
  const history = (runId: string) => JsonHistory.read(redis, `${namespace}:history:${runId}`, trusted)
  const work = async ({ data }: Job<RunData, string>) => runAgent(await history(data.runId), data.question)
  const worker = new Worker<RunData, string>('runs', work, { ...settings, concurrency })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return { redis, queue, worker, settings }
}

/** The loop of every agent. It begins after the last recorded message. */
async function runAgent(history: JsonHistory, question: string): Promise<string> {
  if (history.messages.length === 0) await history.append({ role: 'user', content: question })
  for (;;) {
    const last = history.messages.at(-1) as AgentMessage
    if (last.role !== 'assistant') await history.append(replyOfModel(history.messages))
    else if (last.toolCall !== undefined) await history.append(resultOfTool(last.toolCall))
    else return last.content
  }
}
