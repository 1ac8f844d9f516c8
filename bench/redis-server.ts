/**
 * Duty: one Redis server for one run of the bench: a child process on a free loopback port, with a directory of its own
 * that is deleted with it. Its settings are those a durable queue needs: AOF every second, nothing evicted.
 * Owns: the process and the directory. Does not own: connections to it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const program = 'redis-server'
const startMsMax = 10_000
const stopMsMax = 5_000

export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly version: string
  stop(): Promise<void>
}

/** Thrown when there is no Redis to measure against; the message says what to do. */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError'
}

export async function startRedisServer(): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'))
  const port = await freePort()
  const server = spawn(program, settings(port, directory), { stdio: 'ignore' })
  // The last resort for an exit that did not pass through stop(): nothing of the run may outlive it.
  const onExit = () => {
    server.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
  process.once('exit', onExit)
  const stop = async () => {
    await endProcess(server)
    process.off('exit', onExit)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const version = await waitUntilReady(server, port)
    return { url: `redis://127.0.0.1:${port}`, port, version, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function settings(port: number, directory: string): string[] {
  const values = {
    bind: '127.0.0.1',
    port: String(port),
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    // A rewrite in the middle of a measurement would be charged to whoever is being measured.
    'auto-aof-rewrite-percentage': '0',
    'maxmemory-policy': 'noeviction',
  }
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value])
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  if (address === null || typeof address === 'string') throw new Error('The system gave no free port.')
  probe.close()
  await once(probe, 'close')
  return address.port
}

async function waitUntilReady(server: ChildProcess, port: number): Promise<string> {
  const failed = new Promise<never>((_, reject) => {
    server.once('error', (error) =>
      reject(new RedisUnavailableError(`redis-server cannot be started (${error.message}): install Redis 7 or later.`)),
    )
    server.once('exit', (code) => reject(new RedisUnavailableError(`redis-server ended at once with code ${code}.`)))
  })
  const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 20, maxRetriesPerRequest: null })
  redis.on('error', () => {}) // Refused while it starts; the retry above tries again.
  const timeout = AbortSignal.timeout(startMsMax)
  const late = once(timeout, 'abort').then(() => {
    throw new RedisUnavailableError(`redis-server did not answer within ${startMsMax} ms.`)
  })
  try {
    const info = await Promise.race([redis.info('server'), failed, late])
    return /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown'
  } finally {
    // Whichever of the two did not win must not surface later.
    failed.catch(() => {})
    late.catch(() => {})
    redis.disconnect()
  }
}

async function endProcess(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  const impatience = setTimeout(() => server.kill('SIGKILL'), stopMsMax)
  await ended
  clearTimeout(impatience)
}
