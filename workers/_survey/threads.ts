/**
 * Duty: threads in which files are read. Reading tens of thousands of files with asynchronous calls costs several times the work
 * of reading them, and calls that wait for the disk would stop everything else in this process, its leases first. So they wait in
 * threads: as many as there are processors to use, shared by all workers of the process, gone when there has been nothing to do.
 * D1 A thread does one job at a time; jobs start in the order in which they came.
 * D2 Aborting rejects at once with the signal's reason; a thread that was at it stops at its next checkpoint, and is used again
 *    only then.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Answer, Found, Job } from './jobs.ts'

export interface ThreadTask {
  readonly job: Job
  /** One Int32; set to 1 to stop the job. */
  readonly stop: SharedArrayBuffer
}

export type ThreadAnswer =
  | { readonly kind: 'answered'; readonly answer: Answer<Found[Job['kind']]> }
  | { readonly kind: 'failed'; readonly message: string }

const threadsMax = Math.min(4, availableParallelism())
const idleMs = 5_000

interface Task extends ThreadTask {
  readonly settle: (answer: ThreadAnswer) => void
}

interface Thread {
  readonly worker: Worker
  task: Task | null
  idleTimer: NodeJS.Timeout | null
}

const threads = new Set<Thread>()
const queue: Task[] = []

/** Has a thread do the job. Throws what is nobody's fault (the machine ran out of something), so that it is tried again. */
export function inThread<Kind extends Job['kind']>(
  job: Extract<Job, { kind: Kind }>,
  signal: AbortSignal,
): Promise<Answer<Found[Kind]>> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const onAbort = () => {
      Atomics.store(new Int32Array(stop), 0, 1)
      const waiting = queue.indexOf(task)
      if (waiting >= 0) queue.splice(waiting, 1)
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason }))
    }
    const task: Task = {
      job,
      stop,
      settle(answer) {
        signal.removeEventListener('abort', onAbort)
        if (answer.kind === 'failed') reject(new Error(answer.message))
        else resolve(answer.answer as Answer<Found[Kind]>)
      },
    }
    signal.addEventListener('abort', onAbort, { once: true })
    queue.push(task)
    startNext()
  })
}

function startNext(): void {
  const idle = [...threads].find((thread) => thread.task === null)
  if (queue.length === 0 || (idle === undefined && threads.size >= threadsMax)) return
  const task = queue.shift() as Task
  const thread = idle ?? openThread()
  if (thread.idleTimer !== null) clearTimeout(thread.idleTimer)
  thread.task = task
  // A process with work under way does not end; one with idle threads may.
  thread.worker.ref()
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  thread.worker.postMessage({ job: task.job, stop: task.stop } satisfies ThreadTask)
}

function openThread(): Thread {
  // Beside this file, in the form in which this file runs.
  const file = new URL(import.meta.url).pathname.endsWith('.ts') ? './thread-main.ts' : './thread-main.js'
  const worker = new Worker(new URL(file, import.meta.url), { name: 'survey', execArgv: [] })
  const thread: Thread = { worker, task: null, idleTimer: null }
  threads.add(thread)
  worker.on('message', (answer: ThreadAnswer) => {
    settle(thread, answer)
    startNext()
    if (thread.task === null) rest(thread)
  })
  worker.on('error', (error) => close(thread, error.message))
  worker.on('exit', () => close(thread, 'a reading thread ended'))
  return thread
}

function settle(thread: Thread, answer: ThreadAnswer): void {
  const { task } = thread
  thread.task = null
  task?.settle(answer)
}

function rest(thread: Thread): void {
  thread.worker.unref()
  thread.idleTimer = setTimeout(() => {
    // First of all nobody may give it a job any more.
    threads.delete(thread)
    void thread.worker.terminate()
  }, idleMs).unref()
}

/** A thread that is gone: its job failed, and the next one gets another thread. */
function close(thread: Thread, message: string): void {
  if (!threads.delete(thread)) return
  settle(thread, { kind: 'failed', message })
  startNext()
}
