/**
 * Duty: the program of the watchdog's thread: look whether the node beats, name what blocks it, end its process in time, and carry out the
 * last order of a node that dies. The node starts this file as a thread and never imports it. How long the node is blocked: block.ts (WATCH-THREAD-1).
 * WATCH-THREAD-2 What blocks is named once for each block, on stderr, and in the record of its worker, while it still blocks.
 * WATCH-THREAD-3 A process is ended only after its last words were written, or Redis did not take them in time; and never while somebody debugs it.
 * WATCH-THREAD-4 Redis is connected to only when there is something to say. The code for that is loaded before: then there is no time.
 */
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { performance } from 'node:perf_hooks'
import { parentPort, workerData } from 'node:worker_threads'
import { lastWordsOf } from '../core/worker/last-words.ts'
import type { Redis } from '../store/redis/redis.ts'
import { Block } from './block.ts'
import type { Look, ReleaseOrder, ThreadSettings } from './orders.ts'

const settings = workerData as ThreadSettings
const { shared, everyMs, namedAfterMs, endsAfterMs, nodeId: id, host } = settings

/** How long code may take to be interrupted: native code is not. */
const lookMs = 1_000
/** For one answer of Redis. On a busy machine this thread runs beside the code that blocks: connecting alone took up to two seconds. */
const redisMs = 5_000
/** How long a process that was told to end may take, before it is killed: on a busy machine it is interrupted late. Native code is never interrupted. */
const exitMs = 20_000
const nativeExitMs = 5_000

const block = new Block(everyMs, performance.now())
let isEnding = false

parentPort?.on('message', (order: ReleaseOrder) => {
  void send(order).then(() => {
    Atomics.store(shared, 1, 1)
    Atomics.notify(shared, 1)
    process.exit()
  })
})
setInterval(look, everyMs)
const loading = Promise.all([import('../store/redis/connections.ts'), import('./release.ts')])
loading.catch(() => {})

function look(): void {
  block.look(Atomics.load(shared, 0), performance.now())
  if (block.isToBeNamed(namedAfterMs)) void nameIt()
  if (block.ms >= endsAfterMs && !isEnding) {
    isEnding = true
    void endIt().finally(() => (isEnding = false))
  }
}

async function nameIt(): Promise<void> {
  const found = await ask()
  if (found.isDebugged || !block.isNamed) return
  const end =
    endsAfterMs === Number.POSITIVE_INFINITY ? '' : ` The process ends when that lasts ${seconds(endsAfterMs)}.`
  say('warn', found, advice + end)
  await send({ ends: false, words: wordsOf(found), authors: authorsOf(found), turns: found.turns })
}

/** Ends the process (WATCH-THREAD-3). */
async function endIt(): Promise<void> {
  const found = await ask()
  if (found.isDebugged || block.ms < endsAfterMs) return
  say('fatal', found, 'No lease of this node holds any longer: its process ends now.')
  await send({ ends: true, words: wordsOf(found), authors: authorsOf(found), turns: found.turns })
  evaluate(settings.endExpression, () => {})
  // The process waits for the end of the session. But a session that ends before the node was interrupted takes its last message with it, and on a
  // busy machine the interruption takes long.
  setInterval(() => Atomics.load(shared, 2) === 1 && session?.disconnect(), 50)
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), found.isNative ? nativeExitMs : exitMs)
  await new Promise(() => {})
}

const advice = 'Let what computes run in a thread (a tool does with its field `thread`), or pause between its parts.'

interface Found extends Look {
  /** Native code blocks the loop: the node could not be asked, and its claims say what it runs. */
  readonly isNative: boolean
}

function wordsOf({ isNative, place, call, turns }: Found): string {
  const ran = turns.slice(0, 5).map(({ kind, workerId }) => `kind ${kind}, worker ${workerId}`)
  const native = isNative ? `, in native code of ${ran.length === 1 ? ran[0] : `one of these: ${ran.join('; ')}`}` : ''
  const what = `${seconds(block.ms)}${native}`
  return lastWordsOf({ sort: 'blocked', what, thrownAt: place ?? undefined }, call ?? undefined, {
    id,
    host,
    pid: process.pid,
  })
}

/** Native code may be that of any of them. */
function authorsOf({ isNative, call, turns }: Found): string[] {
  if (isNative) return turns.map(({ workerId }) => workerId)
  return call === null ? [] : [call.workerId]
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}

/** It writes straight to stderr: a stream of this thread would go through the event loop that stands still. */
function say(level: 'warn' | 'fatal', found: Found, what: string): void {
  const message = `${wordsOf(found)}. ${what}`
  const { call, place } = found
  const fields = {
    level: level === 'warn' ? 40 : 60,
    time: Date.now(),
    pid: process.pid,
    node: id,
    ...(call && { session: call.sessionId, worker: call.workerId, kind: call.kind, doing: call.what }),
    ...(place && { at: place }),
    msg: message,
  }
  try {
    writeSync(2, settings.isJson ? `${JSON.stringify(fields)}\n` : `troupe: ${message.replaceAll(/\p{Cc}/gu, ' ')}\n`)
  } catch {
    // Nobody reads stderr any more.
  }
}

/** Asks the node in the middle of what blocks it, or else looks at its claims. */
async function ask(): Promise<Found> {
  const look = await new Promise<Look | undefined>((resolve) => {
    const late = setTimeout(() => resolve(undefined), lookMs)
    evaluate(settings.lookExpression, (text) => {
      clearTimeout(late)
      resolve(text === undefined ? undefined : (JSON.parse(text) as Look))
    })
  })
  if (look !== undefined) return { ...look, isNative: false }
  const turns = await withRedis(async (at, { heldTurns }) => heldTurns(at, settings))
  return { call: null, place: null, turns: turns ?? [], isDebugged: false, isNative: true }
}

let session: Session | undefined

/** Runs the expression in the thread of the node, between two instructions of the code that runs there. */
function evaluate(expression: string, answered: (text: string | undefined) => void): void {
  if (session === undefined) {
    session = new Session()
    session.connectToMainThread()
  }
  session.post('Runtime.evaluate', { expression, returnByValue: true }, (error, answer) => {
    const value: unknown = error ? undefined : answer?.result.value
    answered(typeof value === 'string' ? value : undefined)
  })
}

async function send(order: ReleaseOrder): Promise<void> {
  await withRedis((at, { release }) => release(at, settings, order, redisMs))
}

/** Does something with a connection to Redis (WATCH-THREAD-4). Never rejects, and waits no longer than for two answers. */
async function withRedis<T>(
  work: (at: (tag: string) => Redis, calls: typeof import('./release.ts')) => Promise<T>,
): Promise<T | undefined> {
  try {
    const [{ Connections }, calls] = await loading
    const connections = await Connections.open(settings.redisUrl, { deadlineMs: redisMs })
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, redisMs, undefined))
    return await Promise.race([work((tag) => connections.at(tag), calls), late]).finally(() => connections.end())
  } catch {
    // The leases of the node end by themselves.
    return undefined
  }
}
