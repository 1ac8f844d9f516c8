/**
 * Duty: start one Redis under a guard and wait for its first PONG.
 * STARTED-1 A server that is returned answers. A server that does not answer in time is ended, and the error holds the end of its log.
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
  /** The volume that holds the data, if the folder does not. */
  readonly volume?: string | undefined
  readonly process: GuardedProcess
}

/** What the guard sends to those who join. */
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

/** Starts a server. If another program takes the chosen port first, another port is tried. */
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
  let last = 'nothing listens'
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

/** The last lines that a server wrote. */
async function logTail(folder: string): Promise<string[]> {
  const text = await readFile(serverLog(folder), 'utf8').catch(() => '')
  return text.trim() ? text.trimEnd().split('\n').slice(-logLines) : []
}

/** A free loopback port; the preferred one if it is free. */
export function freePort(preferred = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => (preferred === 0 ? reject(error) : resolve(freePort())))
    probe.listen(preferred, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
