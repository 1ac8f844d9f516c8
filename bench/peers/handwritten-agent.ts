/**
 * Duty: an agent written by hand on BullMQ: one job per run; the history is one JSON value that is rewritten with every
 * message. After a crash the job runs again and goes on from the history, so each step is durable, as in troupe. Unlike
 * in troupe, nothing keeps a stalled job and its second run from writing the same history.
 */
import { randomUUID } from 'node:crypto'
import { type Job, Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
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
import type { History } from './history.ts'
import { JsonHistory } from './json-history.ts'
import { KeptRun, keptRunConnection } from './kept-run.ts'

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

/** The same agent, which owes its users what troupe owes them: see kept-run.ts. */
export const handwrittenAgentKept: Contestant = {
  id: 'agent-handwritten-kept',
  name: 'the same agent with the duties of troupe',
  unit: 'run',
  inFlight: runsInFlight,
  slots,
  open: openKeptAgent,
}

type HistoryOf = (runId: string) => Promise<History>

interface RunData {
  readonly runId: string
  readonly question: string
}

async function openHandwrittenAgent(place: Place): Promise<OpenContestant> {
  const redis = plainConnection(place.redisUrl)
  const history = (runId: string) => JsonHistory.read(redis, historyKey(place, runId))
  return await openWaitingAgent(place, redis, history)
}

async function openKeptAgent(place: Place): Promise<OpenContestant> {
  const redis = keptRunConnection(place.redisUrl)
  return await openWaitingAgent(place, redis, (runId) => KeptRun.begin(redis, place.namespace, runId))
}

/** Its producers wait with `waitUntilFinished`, as BullMQ's documentation says. */
async function openWaitingAgent(place: Place, redis: Redis, history: HistoryOf): Promise<OpenContestant> {
  const { queue, worker, settings } = await openAgentQueue(place, slots, history)
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
  const redis = plainConnection(place.redisUrl)
  const history = (runId: string) => JsonHistory.read(redis, historyKey(place, runId), true)
  const { queue, worker, settings } = await openAgentQueue(place, fewSlots, history)
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

async function openAgentQueue({ redisUrl, namespace }: Place, concurrency: number, history: HistoryOf) {
  const settings = { prefix: namespace, connection: bullmqConnection(redisUrl) }
  const queue = new Queue<RunData, string>('runs', settings)
  queue.setMaxListeners(waitersMax)
  const work = async ({ data }: Job<RunData, string>) => runAgent(await history(data.runId), data.question)
  const worker = new Worker<RunData, string>('runs', work, { ...settings, concurrency })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return { queue, worker, settings }
}

function historyKey({ namespace }: Place, runId: string): string {
  return `${namespace}:history:${runId}`
}

/** The loop of every agent. It begins after the last recorded message. */
async function runAgent(history: History, question: string): Promise<string> {
  if (history.messages.length === 0) await history.append({ role: 'user', content: question })
  for (;;) {
    const last = history.messages.at(-1) as AgentMessage
    if (last.role !== 'assistant') {
      const reply = replyOfModel(history.messages)
      await history.append(reply, 'toolCall' in reply ? undefined : 'endsRun')
    } else if (last.toolCall !== undefined) await history.append(resultOfTool(last.toolCall))
    else return last.content
  }
}
