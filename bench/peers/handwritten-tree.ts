/**
 * Duty: a parent with ten children, written by hand on BullMQ: the parent's job adds ten child jobs with itself as their
 * parent, waits for them without a slot (`moveToWaitingChildren`), and collects their values when BullMQ runs it again.
 * Parent and children keep their histories as JSON values, rewritten with every message. From its history the second run of
 * the parent knows where to go on.
 */
import { randomUUID } from 'node:crypto'
import { type Job, Queue, WaitingChildrenError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import {
  childAnswer,
  childQuestion,
  childrenPerTree,
  expectedTreeAnswer,
  treeAnswer,
  treeQuestion,
} from '../agent-script.ts'
import { type Contestant, type OpenContestant, type Place, slots, treesInFlight } from '../contestant.ts'
import {
  bullmqConnection,
  forgetFinished,
  keepRecent,
  openQueueEvents,
  plainConnection,
  waitersMax,
} from './connections.ts'
import type { History } from './history.ts'
import { JsonHistory } from './json-history.ts'
import { KeptRun, keptRunConnection } from './kept-run.ts'

export const handwrittenTree: Contestant = {
  id: 'tree-handwritten',
  name: 'hand-written BullMQ tree, JSON history',
  unit: 'tree',
  inFlight: treesInFlight,
  slots,
  open: openHandwrittenTree,
}

/** The same tree, which owes its users what troupe owes them: see kept-run.ts. */
export const handwrittenTreeKept: Contestant = {
  id: 'tree-handwritten-kept',
  name: 'the same tree with the duties of troupe',
  unit: 'tree',
  inFlight: treesInFlight,
  slots,
  open: openKeptTree,
}

type HistoryOf = (runId: string) => Promise<History>

interface WorkData {
  readonly runId: string
  readonly question: string
}

async function openHandwrittenTree(place: Place): Promise<OpenContestant> {
  const redis = plainConnection(place.redisUrl)
  return await openTree(place, redis, (runId) => JsonHistory.read(redis, `${place.namespace}:history:${runId}`))
}

async function openKeptTree(place: Place): Promise<OpenContestant> {
  const redis = keptRunConnection(place.redisUrl)
  return await openTree(place, redis, (runId) => KeptRun.begin(redis, place.namespace, runId))
}

async function openTree({ redisUrl, namespace }: Place, redis: Redis, historyOf: HistoryOf): Promise<OpenContestant> {
  const connection = bullmqConnection(redisUrl)
  const settings = { prefix: namespace, connection }
  const queue = new Queue<WorkData, string>('work', settings)
  queue.setMaxListeners(waitersMax)
  const work = async (job: Job<WorkData, string>, token?: string) => {
    const history = await historyOf(job.data.runId)
    return job.name === 'child' ? answerAsChild(history, job.data) : delegate(job, token, history, queue)
  }
  const worker = new Worker('work', work, { ...settings, concurrency: slots })
  const events = await openQueueEvents('work', namespace, connection)
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const runId = randomUUID()
      const job = await queue.add('parent', { runId, question: treeQuestion }, keepRecent)
      const answer = await job.waitUntilFinished(events)
      if (answer !== expectedTreeAnswer) throw new Error('The hand-written tree gave another answer.')
    },
    async close() {
      await worker.close()
      await Promise.all([events.close(), queue.close()])
      redis.disconnect()
    },
  }
}

async function answerAsChild(history: History, { question }: WorkData): Promise<string> {
  if (history.messages.length === 0) await history.append({ role: 'user', content: question })
  const answer = childAnswer(question)
  if (history.messages.length === 1) await history.append({ role: 'assistant', content: answer }, 'endsRun')
  return answer
}

async function delegate(
  job: Job<WorkData, string>,
  token: string | undefined,
  history: History,
  queue: Queue<WorkData, string>,
): Promise<string> {
  if (history.messages.length === 0) await history.append({ role: 'user', content: job.data.question })
  if (history.messages.length === 1) {
    await queue.addBulk(childJobs(job))
    // The parent records its own message last. If the job runs again before this, it adds its children again, and they find their answers recorded.
    await history.append({ role: 'assistant', content: 'I ask ten workers.' })
  }
  if (await job.moveToWaitingChildren(token ?? '')) throw new WaitingChildrenError()
  const answers = Object.values(await job.getChildrenValues<string>())
  const answer = treeAnswer(answers)
  if (history.messages.length === 2) {
    await history.append({ role: 'tool', callId: 'spawn', content: JSON.stringify(answers) })
  }
  if (history.messages.length === 3) await history.append({ role: 'assistant', content: answer }, 'endsRun')
  return answer
}

function childJobs(parent: Job<WorkData, string>) {
  const { runId } = parent.data
  return Array.from({ length: childrenPerTree }, (_, index) => ({
    name: 'child',
    data: { runId: `${runId}.${index}`, question: childQuestion(index) },
    opts: {
      jobId: `${runId}.${index}`,
      parent: { id: parent.id as string, queue: parent.queueQualifiedName },
      ...forgetFinished,
    },
  }))
}
