/**
 * Duty: provide a Redis for development and tests: find one or start one, and end it when nobody needs it any more.
 *
 * Order: the Redis whose address the caller passed; a server program of this system; a container; on Debian, as root, the system's package;
 * else an error with the command to type. A server that we start listens on loopback only, has a password, and ends with its owners, even if
 * they are killed (guard.ts). In 'development' it keeps its data in the folder, and all processes that work in the folder share it
 * (shared-redis.ts). In 'test' it is fast, belongs to one process and is thrown away.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, realpath, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { containerServer, findContainerEngine } from './container-engine.ts'
import { type Installation, installDebianPackage } from './debian-package.ts'
import { installCommand, RedisUnavailableError } from './redis-unavailable.ts'
import { findLocalServer, type ServerOrigin, type ServerProgram } from './server-program.ts'
import { joinShared, prepareFolder, startShared } from './shared-redis.ts'
import { type StartedRedis, startRedis } from './started-redis.ts'

export interface RedisWish {
  /** The address of a Redis that the user chose. It is used as it is. */
  readonly url?: string | undefined
  readonly mode: 'development' | 'test'
  /** The search path for programs: the caller's PATH. */
  readonly path: string
  /** The folder for the data of a development Redis. Default: .troupe/redis in the current folder. */
  readonly dir?: string | undefined
  /** False: nothing is installed. Default true. */
  readonly mayInstall?: boolean | undefined
  /** Aborts the search. Ctrl+C also ends the programs that are being run, and that must not look as if they were missing. */
  readonly signal?: AbortSignal | undefined
  /** Gets a line for each step that takes time. */
  readonly log?: ((line: string) => void) | undefined
}

export interface DevRedis extends AsyncDisposable {
  readonly url: string
  readonly how: 'given' | ServerOrigin
  /** Part of a sentence for people, without the password: "redis-server 7.0.15 at 127.0.0.1:40123, …". */
  readonly description: string
  readonly pid?: number
  /** Releases the server. When this resolves and nobody else needs the server, it has ended. Safe to call twice. */
  stop(): Promise<void>
}

export async function findOrStartRedis(wish: RedisWish): Promise<DevRedis> {
  if (wish.url) return givenRedis(wish.url)
  if (wish.mode === 'test') return ownRedis(await startThrowAway(await findServer(wish)), 'thrown away afterwards')
  const folder = await prepareFolder(wish.dir ?? join(await currentFolder(), '.troupe', 'redis'))
  const started = (await joinShared(folder)) ?? (await startShared(folder, await findServer(wish)))
  const where = started.volume ? `the volume ${started.volume}` : relative(process.cwd(), folder) || folder
  return ownRedis(started, `data in ${where}`)
}

/** The first available program in the order above. */
async function findServer({ path, mayInstall = true, signal, log = () => {} }: RedisWish): Promise<ServerProgram> {
  const local = await findLocalServer(path)
  if (local.kind === 'found') return local.program

  signal?.throwIfAborted()
  const client = await findContainerEngine(path)
  const container = client && (await containerServer(client, path, log))
  if (container) return container

  signal?.throwIfAborted()
  const installation: Installation = mayInstall
    ? await installDebianPackage('redis-server', path, log, signal)
    : { kind: 'notPossible' }
  if (installation.kind === 'installed') {
    const installed = await findLocalServer(path, 'installed server')
    if (installed.kind === 'found') return installed.program
  }

  const found = local.kind === 'unfit' ? local.why : 'no redis-server or valkey-server is on PATH'
  const engine = client ? 'the container engine cannot run one' : 'no container engine answers'
  const failed = installation.kind === 'failed' ? `, apt-get could not install one (${installation.reason})` : ''
  throw new RedisUnavailableError(
    `There is no Redis: TROUPE_REDIS_URL is not set, ${found}, ${engine}${failed}; install one with: ${await installCommand()}`,
  )
}

/** The path of the current folder. Throws if it is not valid UTF-8, because such a path as text would name another folder. */
async function currentFolder(): Promise<string> {
  const path = process.cwd()
  const [named, current] = await Promise.all([stat(path).catch(() => undefined), stat('.')])
  if (named?.ino === current.ino && named.dev === current.dev) return path
  throw Object.assign(new Error('the path of the current folder is not UTF-8'), { code: 'EILSEQ' })
}

async function startThrowAway(program: ServerProgram): Promise<StartedRedis> {
  const made = await mkdtemp(join(tmpdir(), 'troupe-redis-')).catch((cause: Error) => {
    throw new RedisUnavailableError(
      `The folder for a Redis cannot be created: ${cause.message}. Set TMPDIR to another folder.`,
      {
        cause,
      },
    )
  })
  const folder = await realpath(made)
  return startRedis({ program, folder, password: randomBytes(18).toString('base64url'), isThrowAway: true })
}

function givenRedis(url: string): DevRedis {
  const stop = async () => {}
  return { url, how: 'given', description: `the Redis at ${withoutPassword(url)}`, stop, [Symbol.asyncDispose]: stop }
}

function ownRedis({ how, name, url, address, process: guarded }: StartedRedis, fate: string): DevRedis {
  const stop = () => guarded.release()
  const description = `${name} at 127.0.0.1:${address.port}, ${fate}`
  return { url, how, description, pid: guarded.pid, stop, [Symbol.asyncDispose]: stop }
}

function withoutPassword(url: string): string {
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname === '/' ? '' : pathname}`
  } catch {
    // The path of a Unix socket, or an address that the client will refuse.
    return url.replace(/\/\/.*@/, '//').replace(/\?.*$/s, '')
  }
}
