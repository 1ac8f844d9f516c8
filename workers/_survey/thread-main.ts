/** Duty: what runs in a thread: does one job at a time, with calls that wait for the disk, and answers. */
import { parentPort } from 'node:worker_threads'
import { type Job, runJob } from './jobs.ts'
import type { ThreadAnswer, ThreadTask } from './threads.ts'

parentPort?.on('message', (task: ThreadTask) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(answer(task.job, new Int32Array(task.stop)))
})

function answer(job: Job, stop: Int32Array): ThreadAnswer {
  try {
    const checkpoint = () => {
      if (Atomics.load(stop, 0) !== 0) throw new Error('stopped')
    }
    return { kind: 'answered', answer: runJob(job, checkpoint) }
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}
