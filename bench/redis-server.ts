/**
 * Duty: one Redis for one run of the bench, under a guard (src/dev/guard.ts): it ends with the bench, however that ends, and its folder
 * is removed. Its settings are those of a durable queue: AOF every second, nothing evicted.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installCommand, RedisUnavailableError } from '../src/dev/redis-unavailable.ts'
import { findLocalServer, type ServerProgram, versionMinText } from '../src/dev/server-program.ts'
import { startRedis } from '../src/dev/started-redis.ts'

export interface RedisServer {
  readonly url: string
  /** For people: "redis-server 7.0.15, process 4711". */
  readonly name: string
  /** Rejects when the server has ended. */
  readonly gone: Promise<never>
  stop(): Promise<void>
}

/** Throws a RedisUnavailableError that says what to do if this search path has no server program. */
export async function startRedisServer(path: string): Promise<RedisServer> {
  const local = await findLocalServer(path)
  if (local.kind !== 'found') {
    const needed = `The bench needs a redis-server or valkey-server, ${versionMinText} or later, on the PATH`
    throw new RedisUnavailableError(`${needed}; install one with: ${await installCommand()}`)
  }
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-bench-')))
  const program = withoutRewrites(local.program)
  // For a local server, a volume only means that there is an AOF.
  const server = await startRedis({ program, folder, password: '', volume: 'bench', isThrowAway: true })
  const { process: guarded, url } = server
  const name = `${server.name}, process ${guarded.pid}`
  const gone = guarded.gone.then(() => {
    throw new RedisUnavailableError(`${name}, has ended: nothing more can be measured.`)
  })
  gone.catch(() => {}) // It ends at the latest when it is stopped.
  const stop = async () => {
    await guarded.release()
    await rm(folder, { recursive: true, force: true })
  }
  return { url, name, gone, stop }
}

/** A rewrite of the AOF in the middle of a measurement would be charged to the contestant that is measured. */
function withoutRewrites(program: ServerProgram): ServerProgram {
  const commandAt: ServerProgram['commandAt'] = (place) => {
    const asked = program.commandAt(place)
    return { ...asked, input: `${asked.input}auto-aof-rewrite-percentage 0\n` }
  }
  return { ...program, commandAt }
}
