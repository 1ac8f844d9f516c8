/** Finding and starting a Redis, with real servers, real processes and real kills. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram, isAlive } from '../../src/dev/program.ts'
import { type DevRedis, findOrStartRedis, type RedisWish } from '../../src/dev/redis.ts'
import { askRedis } from '../../src/dev/redis-question.ts'
import { RedisUnavailableError } from '../../src/dev/redis-unavailable.ts'
import { findLocalServer } from '../../src/dev/server-program.ts'
import { ownPort } from '../support/redis/own-port.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { addressOf, answer, setting } from './support/asked-redis.ts'

type OwnedRedis = Pick<DevRedis, 'url' | 'how' | 'description'> & { pid: number }

const server = (await findProgram(['redis-server', 'valkey-server'], process.env.PATH ?? '')) ?? ''

let root: string
let path: string
const owners = new Set<ChildProcess>()

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-finder-')))
  path = await onlyLocalServer(join(root, 'bin'))
})

afterEach(async () => {
  for (const owner of owners) owner.kill('SIGKILL')
  await waitUntil('all owners to be gone', () =>
    [...owners].every((owner) => owner.exitCode !== null || owner.signalCode !== null),
  )
  owners.clear()
  await rm(root, { recursive: true, force: true, maxRetries: 20 })
})

/** Has the server of this folder take a port that nobody else gets while no server listens there, as happens to those that the system gives out. */
async function giveOwnPort(dir: string): Promise<void> {
  await mkdir(dir)
  await writeFile(join(dir, 'address.json'), JSON.stringify({ port: await ownPort(), password: 'x'.repeat(24) }))
}

describe('the search for a Redis', () => {
  test('a configured Redis is used as it is, and its password is not shown', async () => {
    const redis = await findOrStartRedis({
      url: 'redis://me:secret@redis.example:6380/2',
      mode: 'development',
      path: '',
    })
    expect(redis).toMatchObject({ url: 'redis://me:secret@redis.example:6380/2', how: 'given' })
    expect(redis.description).toBe('the Redis at redis.example:6380/2')
  })

  test('a machine without a server, a container engine and a package manager gets one sentence that says which command to type', async () => {
    const empty = join(root, 'empty')
    await mkdir(empty)
    const failure = findOrStartRedis({ mode: 'test', path: empty })
    await expect(failure).rejects.toThrow(RedisUnavailableError)
    await expect(failure).rejects.toThrow(
      /^There is no Redis: .* is on PATH, no container engine answers; install one with: \S+ .+$/,
    )
  })

  test('nothing is installed if the caller forbids it', async () => {
    const asked = join(root, 'asked')
    const bin = await programs('packages', { 'apt-get': `touch ${asked}`, env: `touch ${asked}` })
    await expect(findOrStartRedis({ mode: 'test', path: bin, mayInstall: false })).rejects.toThrow(
      RedisUnavailableError,
    )
    await expect(stat(asked)).rejects.toThrow('ENOENT')
  })

  test('an aborted search looks for nothing more and installs nothing', async () => {
    const asked = join(root, 'asked')
    const more = `echo "$0" >> ${asked}`
    // Ctrl+C in a terminal reaches this program as well: it ends without an answer, as if it could not run.
    const bin = await programs('interrupted', {
      'redis-server': 'kill -INT $$',
      docker: more,
      'apt-get': more,
      env: more,
    })
    const search = new AbortController()
    const found = findOrStartRedis({ mode: 'test', path: bin, signal: search.signal })
    search.abort()
    await expect(found).rejects.toThrow('aborted')
    await expect(stat(asked)).rejects.toThrow('ENOENT')
  })

  test('a server that is too old does not count, and the error says so', async () => {
    const bin = await programs('old', { 'redis-server': 'echo "Redis server v=5.0.7 sha=00000000:0 bits=64"' })
    await expect(findOrStartRedis({ mode: 'test', path: bin })).rejects.toThrow(
      'redis-server 5.0.7 is too old (6.2 or later is needed)',
    )
  })

  test('a server program that cannot run does not count, and the error quotes it', async () => {
    const bin = await programs('torn', { 'redis-server': 'echo "libjemalloc.so.2: no such file" >&2; exit 127' })
    await expect(findOrStartRedis({ mode: 'test', path: bin })).rejects.toThrow(
      /, \S+redis-server does not print its version \(libjemalloc\.so\.2: no such file\), no container/,
    )
  })

  test('a recent server is found after one that is too old', async () => {
    const says = (version: string) => `echo "Server v=${version} sha=00000000:0 bits=64"`
    const bin = await programs('two', { 'redis-server': says('5.0.7'), 'valkey-server': says('8.1.1') })
    expect(await findLocalServer(bin)).toMatchObject({ kind: 'found', program: { name: 'valkey-server 8.1.1' } })
  })

  test('the client of a container engine does not count if no engine answers', async () => {
    const bin = await programs('no-engine', { docker: 'echo "Cannot connect to the Docker daemon" >&2; exit 1' })
    await expect(findOrStartRedis({ mode: 'test', path: bin })).rejects.toThrow('no container engine answers')
  })

  test.each(['docker', 'podman'])(
    '%s that cannot have the image is reported, and the next choice is tried',
    async (name) => {
      const bin = await programs('no-image', { [name]: '[ "$1" = info ] || { echo "no route to host" >&2; exit 1; }' })
      const log: string[] = []
      const found = findOrStartRedis({ mode: 'test', path: bin, mayInstall: false, log: (line) => log.push(line) })
      await expect(found).rejects.toThrow('the container engine cannot run one')
      expect(log).toEqual(['Pulling redis:7-alpine …', `${name} cannot pull redis:7-alpine: no route to host`])
    },
  )

  test('a server that does not start is reported with the end of its log', async () => {
    const bin = await programs('broken', {
      'redis-server':
        '[ "$1" = --version ] && echo "Redis server v=7.0.0" && exit; echo "Fatal error, cannot do it"; exit 1',
    })
    await expect(findOrStartRedis({ mode: 'test', path: bin })).rejects.toThrow(
      /redis-server 7\.0\.0 ended at once\. The end of its log:\n {2}Fatal error, cannot do it/,
    )
  })

  test.skipIf(!server)(
    'an engine that answers runs the server, published on loopback and without its password in the arguments',
    async () => {
      // A stand-in for the engine: it runs the command that ends the arguments on the published port.
      const calls = join(root, 'calls')
      const bin = await programs('engine', {
        docker: [
          `echo "$@" >> ${calls}`,
          '[ "$1" = run ] || exit 0',
          'port=$(echo "$@" | sed "s/.*--publish 127.0.0.1:\\([0-9]*\\):6379.*/\\1/")',
          `sed "s/^port .*/port $port/; s/^bind .*/bind 127.0.0.1/; s|^dir .*|dir ${root}|" > ${root}/conf`,
          `exec ${server} ${root}/conf`,
        ].join('\n'),
      })
      const contained = await findOrStartRedis({ mode: 'development', path: bin, dir: join(root, 'redis') })
      expect(contained.how).toBe('container')
      expect(contained.description).toContain('redis:7-alpine in Docker')
      expect(await answer(contained.url)).toBe('PONG')
      const said = await readFile(calls, 'utf8')
      const [, volume] =
        /run --rm --interactive .* --publish 127\.0\.0\.1:\d+:6379 --volume (troupe-\w+):\/data/.exec(said) ?? []
      expect(contained.description).toMatch(new RegExp(`, data in the volume ${volume}$`))
      expect(said).not.toContain(addressOf(contained.url).password)
      await contained.stop()
      expect((await askRedis(addressOf(contained.url), 'PING')).kind).toBe('nobody')
    },
  )
})

describe.skipIf(!server)('a throw-away Redis', () => {
  test('a throw-away Redis answers with its password only, on loopback only, and leaves nothing behind', async () => {
    const redis = await findOrStartRedis({ mode: 'test', path })
    const address = addressOf(redis.url)
    expect(await answer(redis.url)).toBe('PONG')
    expect(await askRedis({ port: address.port }, 'PING')).toMatchObject({
      kind: 'refusal',
      text: expect.stringMatching(/^NOAUTH/),
    })
    expect(await setting(redis.url, 'bind')).toBe('127.0.0.1')
    const folder = await setting(redis.url, 'dir')
    await redis.stop()
    await redis.stop()
    expect(await askRedis(address, 'PING')).toEqual({ kind: 'nobody' })
    await expect(stat(folder)).rejects.toThrow('ENOENT')
  })

  test('a throw-away Redis ends, with its folder, when its owner is killed', async () => {
    const owner = await startOwner({ mode: 'test', path })
    const folder = await setting(owner.redis.url, 'dir')
    owner.process.kill('SIGKILL')
    expect(await isGone(owner.redis)).toBe(true)
    await waitUntil('its folder to be gone', () =>
      stat(folder).then(
        () => false,
        () => true,
      ),
    )
  })
})

describe.skipIf(!server)('a development Redis', () => {
  test('a development Redis keeps its data, its port and its password from one start to the next', async () => {
    const dir = join(root, 'redis')
    await giveOwnPort(dir)
    const first = await findOrStartRedis({ mode: 'development', path, dir })
    expect(await answer(first.url, 'SET greeting hello')).toBe('OK')
    expect(await setting(first.url, 'appendonly')).toBe('yes')
    expect(await setting(first.url, 'maxmemory-policy')).toBe('noeviction')
    await first.stop()
    expect(await askRedis(addressOf(first.url), 'PING')).toEqual({ kind: 'nobody' })

    await using second = await findOrStartRedis({ mode: 'development', path, dir })
    expect(second.url).toBe(first.url)
    expect(await askRedis(addressOf(second.url), 'STRLEN greeting')).toEqual({ kind: 'answer', text: '5' })
  })

  test('no other user can read the folder of a development Redis', async () => {
    const dir = join(root, 'redis')
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect((await stat(dir)).mode & 0o077).toBe(0)
    expect((await stat(join(dir, 'address.json'))).mode & 0o077).toBe(0)
    expect(redis.description).not.toContain(addressOf(redis.url).password)
  })

  test('a development Redis ends when its only owner is killed', async () => {
    const owner = await startOwner({ mode: 'development', path, dir: join(root, 'redis') })
    owner.process.kill('SIGKILL')
    expect(await isGone(owner.redis)).toBe(true)
  })

  test('a development Redis is shared by a second process, and lives as long as one of them does', async () => {
    const dir = join(root, 'redis')
    const first = await startOwner({ mode: 'development', path, dir })
    const second = await startOwner({ mode: 'development', path, dir })
    const third = await startOwner({ mode: 'development', path, dir })
    expect([second.redis.pid, third.redis.pid]).toEqual([first.redis.pid, first.redis.pid])
    expect(second.redis.url).toBe(first.redis.url)

    first.process.kill('SIGKILL')
    await waitUntil('the first to be gone', () => first.process.signalCode !== null)
    third.process.stdin?.end()
    await waitUntil('the third to have given its part back', () => third.process.exitCode === 0)
    expect(await answer(second.redis.url)).toBe('PONG')

    second.process.kill('SIGKILL')
    await waitUntil('the server to be gone', () => !isAlive(first.redis.pid))
  })

  test('many processes that start at once get one server', async () => {
    const dir = join(root, 'redis')
    const all = await Promise.all(Array.from({ length: 5 }, () => startOwner({ mode: 'development', path, dir })))
    expect(new Set(all.map(({ redis }) => redis.pid)).size).toBe(1)
  })

  test('a process that starts while the server is ending gets a new server with the same data', async () => {
    const dir = join(root, 'redis')
    const first = await findOrStartRedis({ mode: 'development', path, dir })
    await answer(first.url, 'SET greeting hello')
    const ending = first.stop()
    await using second = await findOrStartRedis({ mode: 'development', path, dir })
    await ending
    expect(await askRedis(addressOf(second.url), 'STRLEN greeting')).toEqual({ kind: 'answer', text: '5' })
  })

  test('files that killed processes left behind do not prevent a start', async () => {
    const dir = join(root, 'redis')
    const killed = await startOwner({ mode: 'development', path, dir })
    killed.process.kill('SIGKILL')
    await waitUntil('the server to be gone', () => !isAlive(killed.redis.pid))
    // Its guard, which ends after it, removes its own socket.
    await waitUntil('the guard to be gone', () => !existsSync(join(dir, 'guard.sock')))
    // A lock of a process that is no more, and a socket nobody listens at.
    await writeFile(join(dir, 'start.lock'), String(killed.process.pid))
    await writeFile(join(dir, 'guard.sock'), '')
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect(await answer(redis.url)).toBe('PONG')
  })

  test.each([
    ['that nothing was written into before a power cut', '', 0],
    ['of a process whose id another one has by now', String(process.pid), 3_600],
  ])('a lock %s does not prevent a start', async (_, holder, secondsOld) => {
    const dir = join(root, 'redis')
    const lock = join(dir, 'start.lock')
    await mkdir(dir)
    await writeFile(lock, holder)
    const at = Date.now() / 1_000 - secondsOld
    await utimes(lock, at, at)
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect(await answer(redis.url)).toBe('PONG')
  })

  test.skipIf(process.platform !== 'linux')(
    'a server whose guard was killed ends too, and the next one starts on its data',
    async () => {
      const dir = join(root, 'redis')
      const owner = await startOwner({ mode: 'development', path, dir })
      await answer(owner.redis.url, 'SET greeting hello')
      process.kill(await parentOf(owner.redis.pid), 'SIGKILL')
      await using redis = await findOrStartRedis({ mode: 'development', path, dir })
      expect(redis.pid).not.toBe(owner.redis.pid)
      await waitUntil('the old server to be gone', () => !isAlive(owner.redis.pid))
      expect(await askRedis(addressOf(redis.url), 'STRLEN greeting')).toEqual({ kind: 'answer', text: '5' })
    },
  )

  test('a server that survived its guard is ended before the next one starts on its data', async () => {
    const dir = join(root, 'redis')
    await giveOwnPort(dir)
    const first = await findOrStartRedis({ mode: 'development', path, dir })
    await first.stop()
    const { port, password } = addressOf(first.url)
    const survivor = spawn(server, ['--port', String(port), '--requirepass', password ?? '', '--dir', dir])
    owners.add(survivor)
    await waitUntil(
      'the survivor to answer',
      async () => (await askRedis(addressOf(first.url), 'PING')).kind === 'answer',
    )
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect(redis.url).toBe(first.url)
    await waitUntil('the survivor to be gone', () => survivor.exitCode === 0)
  })

  test('a port that another program has taken is not used', async () => {
    const dir = join(root, 'redis')
    const first = await findOrStartRedis({ mode: 'development', path, dir })
    await first.stop()
    const other = spawn(server, ['--port', String(addressOf(first.url).port), '--save', '', '--dir', root])
    owners.add(other)
    const port = addressOf(first.url).port
    await waitUntil('the other to answer', async () => (await askRedis({ port }, 'PING')).kind === 'answer')
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect(addressOf(redis.url).port).not.toBe(port)
    expect(await askRedis({ port }, 'PING')).toEqual({ kind: 'answer', text: 'PONG' })
  })

  test.skipIf(process.platform !== 'linux')(
    'a folder that cannot be made is an error, and is not tried for ever',
    async () => {
      const started = findOrStartRedis({ mode: 'development', path, dir: '/proc/.troupe/redis' })
      await expect(started).rejects.toThrow("ENOENT: no such file or directory, mkdir '/proc/.troupe'")
    },
  )

  test('the name of the folder of a development Redis may hold any characters', async () => {
    const dir = join(root, 'two\nlines\t\u001b "quoted" \\x41 ü')
    await using redis = await findOrStartRedis({ mode: 'development', path, dir })
    expect(await setting(redis.url, 'dir')).toBe(dir)
  })

  test('the path of the folder of a development Redis may be too long for a socket', async () => {
    const dir = join(root, 'deep'.repeat(20), 'deep'.repeat(20))
    const first = await startOwner({ mode: 'development', path, dir })
    await using second = await findOrStartRedis({ mode: 'development', path, dir })
    expect(second.pid).toBe(first.redis.pid)
  })
})

/** Starts a process that owns a share in a Redis, and returns when it has that share. */
async function startOwner(wish: RedisWish): Promise<{ process: ChildProcess; redis: OwnedRedis }> {
  const program = fileURLToPath(new URL('../programs/redis-owner.ts', import.meta.url))
  const owner = spawn(process.execPath, [program, JSON.stringify(wish)], { stdio: ['pipe', 'pipe', 'inherit'] })
  owners.add(owner)
  let said = ''
  owner.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await waitUntil('an owner to have its Redis', () => said.includes('\n') || owner.exitCode !== null)
  return { process: owner, redis: JSON.parse(said) as OwnedRedis }
}

async function isGone(redis: OwnedRedis): Promise<boolean> {
  await waitUntil('the server to be gone', () => !isAlive(redis.pid))
  return (await askRedis(addressOf(redis.url), 'PING')).kind === 'nobody'
}

async function parentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^PPid:\s*(\d+)/m.exec(status)?.[1])
}

/** A search path that holds only the server program of this machine, and nothing else that could provide a server. */
async function onlyLocalServer(bin: string): Promise<string> {
  await mkdir(bin)
  if (server) await symlink(server, join(bin, 'redis-server'))
  const setpriv = await findProgram(['setpriv'], process.env.PATH ?? '')
  if (setpriv) await symlink(setpriv, join(bin, 'setpriv'))
  return bin
}

/** A search path that holds these shell scripts. */
async function programs(name: string, scripts: Record<string, string>): Promise<string> {
  const bin = join(root, name)
  await mkdir(bin)
  for (const [program, script] of Object.entries(scripts)) {
    await writeFile(join(bin, program), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, program), 0o755)
  }
  return bin
}
