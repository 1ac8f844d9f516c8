/**
 * Duty: one Redis under a guard, from its command to its first PONG.
 *
 * S1  What is returned answers; what does not answer in time is ended, and the error carries the end of its log.
 */
import { mkdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type GuardedProcess, guardSocket, startGuarded } from './guarded-process.ts'
import { addressUrl, askRedis, type RedisAddress } from './redis-question.ts'
import { ServerFailedError } from './redis-unavailable.ts'
import type { ServerOrigin, ServerProgram } from './server-program.ts'

export interface StartedRedis {
  readonly how: ServerOrigin
  readonly name: string
  readonly address: RedisAddress
  readonly url: string
  /** Holds the data, where the folder does not. */
  readonly volume?: string | undefined
  readonly process: GuardedProcess
}

/** What the guard tells those who join. */
interface Note {
  readonly how: ServerOrigin
  readonly name: string
  readonly address: RedisAddress
  readonly volume?: string | undefined
  readonly readyMsMax: number
}

export interface StartOptions {
  readonly program: ServerProgram
  readonly folder: string
  readonly password: string
  readonly port?: number | undefined
  readonly volume?: string | undefined
  readonly isThrowAway?: boolean
}

const portsMax = 3
const pollMs = 20
const logLines = 10
const portTaken = /address already in use|port is already allocated/i

/** Starts a server. A port that somebody takes between our choice and the server's use of it is replaced by another. */
export async function startRedis(options: StartOptions): Promise<StartedRedis> {
  const { program, folder, password, volume } = options
  const logFile = serverLog(folder)
  for (let tried = 1; ; tried++) {
    const port = tried === 1 && options.port ? options.port : await freePort()
    const address = { port, password }
    const { how, name, readyMsMax } = program
    const note: Note = { how, name, address, volume: how === 'container' ? volume : undefined, readyMsMax }
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const guarded = await startGuarded({
      ...program.commandAt({ port, password, folder, volume }),
      socket: await guardSocket(folder),
      logFile,
      note: JSON.stringify(note),
      removeFolder: options.isThrowAway ? folder : undefined,
    })
    try {
      return await untilReady(guarded, note, folder)
    } catch (error) {
      if (options.isThrowAway) await rm(folder, { recursive: true, force: true })
      if (tried === portsMax || !(error instanceof Error && portTaken.test(error.message))) throw error
    }
  }
}

/** A server that a guard already runs. */
export function joinedRedis(guarded: GuardedProcess, folder: string): Promise<StartedRedis> {
  return untilReady(guarded, JSON.parse(guarded.note) as Note, folder)
}

function serverLog(folder: string): string {
  return join(folder, 'server.log')
}

async function untilReady(guarded: GuardedProcess, note: Note, folder: string): Promise<StartedRedis> {
  const { how, name, address, volume, readyMsMax } = note
  const deadline = Date.now() + readyMsMax
  let last = 'nobody listens'
  for (;;) {
    const answer = await askRedis(address, 'PING')
    if (answer.kind === 'answer') return { how, name, address, url: addressUrl(address), volume, process: guarded }
    if (answer.kind === 'refusal') last = answer.text
    const why = guarded.isGone ? 'ended at once' : `did not answer within ${readyMsMax / 1000} s (${last})`
    if (guarded.isGone || Date.now() > deadline) {
      const log = await logTail(folder)
      await guarded.release()
      throw new ServerFailedError(`${name} ${why}`, log)
    }
    await pause(pollMs)
  }
}

/** The last lines a server wrote. */
async function logTail(folder: string): Promise<string[]> {
  const text = await readFile(serverLog(folder), 'utf8').catch(() => '')
  return text.trim() ? text.trimEnd().split('\n').slice(-logLines) : []
}

/** A loopback port nobody listens at just now; the wished one if possible. */
export function freePort(wish = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => (wish === 0 ? reject(error) : resolve(freePort())))
    probe.listen(wish, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
