/**
 * A Redis of one test, to be killed, frozen and restarted. Its data stay in its folder, and its port stays the same, until it is
 * disposed of. It runs under the guard of src/dev, so it ends with the test's process however that ends.
 */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installDebianPackage } from '../../../src/dev/debian-package.ts'
import { installCommand, RedisUnavailableError } from '../../../src/dev/redis-unavailable.ts'
import { findLocalServer, type ServerProgram, settings } from '../../../src/dev/server-program.ts'
import { freePort, type StartedRedis, startRedis } from '../../../src/dev/started-redis.ts'
import { ownPort } from './own-port.ts'

export interface RedisServerOptions {
  readonly port?: number
  /** A Unix socket to listen at as well. */
  readonly unixSocket?: string
  /** What survives kill(): every write, all but the last second, or nothing. Every write unless told. */
  readonly durability?: 'always' | 'everysec' | 'none'
  /** Further lines of redis.conf, such as "maxmemory 10mb". */
  readonly settings?: readonly string[]
  /** It is a sentinel: its settings are nothing but these, and it writes to them. */
  readonly isSentinel?: boolean
}

export class RedisServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly #program: ServerProgram
  #running: StartedRedis | undefined
  #isFrozen = false

  private constructor(program: ServerProgram, folder: string, running: StartedRedis) {
    this.#program = program
    this.folder = folder
    this.#running = running
    this.url = running.url
    this.port = running.address.port
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-redis-')))
    const program = await testProgram(options, folder)
    const port = options.port ? await freePort(options.port) : await ownPort()
    return new RedisServer(program, folder, await startRedis({ program, folder, password: '', port }))
  }

  get pid(): number {
    if (!this.#running) throw new Error('This Redis is stopped.')
    return this.#running.process.pid
  }

  get isStopped(): boolean {
    return this.#running === undefined
  }

  /** Nothing that it is asked would be answered. */
  get isAway(): boolean {
    return this.isStopped || this.#isFrozen
  }

  /** Ends it as a power cut would, and returns when it is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Ends the server in good order, and returns when it is gone. Safe to call twice. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Starts it again, at the same port with the same data; ends it first if it runs. Returns when it answers. */
  async restart(): Promise<void> {
    await this.stop()
    this.#running = await startRedis({ program: this.#program, folder: this.folder, password: '', port: this.port })
  }

  /** Stops its time: connections stay open and nothing answers. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP')
    this.#isFrozen = true
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT')
    this.#isFrozen = false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await rm(this.folder, { recursive: true, force: true })
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const running = this.#running
    this.#running = undefined
    this.#isFrozen = false
    if (!running || running.process.isGone) return
    if (signal === 'SIGKILL') {
      process.kill(running.process.pid, signal)
      await running.process.gone
      return
    }
    // A frozen server hears nothing until it is thawed.
    process.kill(running.process.pid, 'SIGCONT')
    await running.process.release()
  }
}

async function testProgram(options: RedisServerOptions, folder: string): Promise<ServerProgram> {
  const program = await localProgram(process.env.PATH ?? '')
  const { durability = 'always', unixSocket } = options
  const sentinelFile = join(folder, 'sentinel.conf')
  if (options.isSentinel) await writeFile(sentinelFile, `${options.settings?.join('\n')}\n`)
  return {
    ...program,
    commandAt(place) {
      if (options.isSentinel) {
        const { command, args } = program.commandAt(place)
        const where = ['--port', `${place.port}`, '--bind', '127.0.0.1', '--dir', folder, '--sentinel']
        // Instead of the last word, by which settings are read from stdin.
        return { command, args: [...args.slice(0, -1), sentinelFile, ...where], input: '' }
      }
      const where = [
        'bind 127.0.0.1',
        `port ${place.port}`,
        `dir "${folder}"`,
        ...(unixSocket ? [`unixsocket "${unixSocket}"`] : []),
      ]
      const append = durability === 'none' ? ['appendonly no'] : ['appendonly yes', `appendfsync ${durability}`]
      const lines = [...append, ...(options.settings ?? [])]
      return { ...program.commandAt(place), input: `${settings({ password: '' }, where)}${lines.join('\n')}\n` }
    },
  }
}

/** A container will not do here: its process cannot be killed or frozen. */
async function localProgram(path: string): Promise<ServerProgram> {
  let local = await findLocalServer(path)
  if (local.kind !== 'found') {
    await installDebianPackage('redis-server', path, (line) => process.stderr.write(`${line}\n`))
    local = await findLocalServer(path)
  }
  if (local.kind === 'found') return local.program
  throw new RedisUnavailableError(`Fault tests need a Redis on PATH; install one with: ${await installCommand()}`)
}
