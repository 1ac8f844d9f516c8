/**
 * Duty: BullMQ's own trees: a flow of one parent and ten children, added at once by FlowProducer, without any history. It
 * does less than an agent: the children are fixed when the tree is added.
 */
import { FlowProducer, type Job, Worker } from 'bullmq'
import {
  childAnswer,
  childQuestion,
  childrenPerTree,
  expectedTreeAnswer,
  treeAnswer,
  treeQuestion,
} from '../agent-script.ts'
import { type Contestant, type OpenContestant, type Place, slots, treesInFlight } from '../contestant.ts'
import { bullmqConnection, forgetFinished, keepRecent, openQueueEvents, waitersMax } from './connections.ts'

export const flowTree: Contestant = {
  id: 'tree-flow',
  name: 'BullMQ FlowProducer, no history',
  unit: 'tree',
  inFlight: treesInFlight,
  slots,
  open: openFlowTree,
}

async function openFlowTree({ redisUrl, namespace }: Place): Promise<OpenContestant> {
  const connection = bullmqConnection(redisUrl)
  const settings = { prefix: namespace, connection }
  const flows = new FlowProducer(settings)
  flows.setMaxListeners(waitersMax)
  const work = async (job: Job) => {
    if (job.name === 'child') return childAnswer(job.data.question)
    return treeAnswer(Object.values(await job.getChildrenValues<string>()))
  }
  const worker = new Worker('work', work, { ...settings, concurrency: slots })
  const events = await openQueueEvents('work', namespace, connection)
  await Promise.all([flows.waitUntilReady(), worker.waitUntilReady()])
  return {
    async perform() {
      const { job } = await flows.add({
        name: 'parent',
        queueName: 'work',
        data: { question: treeQuestion },
        opts: keepRecent,
        children: childJobs(),
      })
      const answer = await job.waitUntilFinished(events)
      if (answer !== expectedTreeAnswer) throw new Error('The flow gave another answer.')
    },
    async close() {
      await worker.close()
      await Promise.all([events.close(), flows.close()])
    },
  }
}

function childJobs() {
  return Array.from({ length: childrenPerTree }, (_, index) => ({
    name: 'child',
    queueName: 'work',
    data: { question: childQuestion(index) },
    opts: forgetFinished,
  }))
}
