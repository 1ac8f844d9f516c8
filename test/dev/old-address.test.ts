/** The address of its last Redis that a folder remembers. Another server may listen there now. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram, isAlive } from '../../src/dev/program.ts'
import { type DevRedis, findOrStartRedis } from '../../src/dev/redis.ts'
import { askRedis, type RedisAddress } from '../../src/dev/redis-question.ts'
import { ownPort } from '../support/redis/own-port.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const server = await findProgram(['redis-server', 'valkey-server'], process.env.PATH ?? '')

type Stranger = { readonly port: number } & AsyncDisposable

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-address-')))
})
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 20 }))

function redisIn(dir: string): Promise<DevRedis> {
  return findOrStartRedis({ mode: 'development', path: process.env.PATH ?? '', dir })
}

/** A foreign server at its own port, which treats connections in this way. */
async function somebody(welcome: (socket: Socket) => unknown): Promise<Stranger> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => {})
      welcome(socket)
    }),
  )
}

async function listening(server: Server): Promise<Stranger> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port, [Symbol.asyncDispose]: close }
}

/** Makes the folder remember that its Redis was at this port. */
async function moveAddress(dir: string, port: number): Promise<void> {
  const file = join(dir, 'address.json')
  const address = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
  await writeFile(file, JSON.stringify({ ...address, port }))
}

/** Makes the folder remember only this, as another version or a person may have written it. */
async function keepOfAddress(dir: string, ...names: readonly string[]): Promise<void> {
  const file = join(dir, 'address.json')
  await writeFile(file, JSON.stringify(JSON.parse(await readFile(file, 'utf8')), [...names]))
}

function addressOf({ url }: DevRedis): RedisAddress {
  const { port, password } = new URL(url)
  return { port: Number(port), password }
}

/** A server on the data of this folder that no guard knows. */
async function serverIn(dir: string, { port, password }: RedisAddress): Promise<AsyncDisposable & ChildProcess> {
  const settings = ['--port', `${port}`, '--dir', dir, '--save', '', '--appendonly', 'yes']
  const child = spawn(server ?? '', password ? [...settings, '--requirepass', password] : settings)
  const isThere = async () => (await askRedis({ port, password }, 'PING')).kind === 'answer'
  await waitUntil('the server to answer', isThere)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const end = async () => {
    child.kill('SIGKILL')
    await waitUntil('the server to be gone', hasEnded)
  }
  return Object.assign(child, { [Symbol.asyncDispose]: end })
}

/** The fatal alert of a server that wants TLS. */
const alert = Buffer.from('15030100020246', 'hex')

test.each<[string, () => Promise<Stranger>]>([
  [
    'speaks another protocol',
    () => somebody((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n'))),
  ],
  ['says what is no line and leaves', () => somebody((socket) => socket.once('data', () => socket.end(alert)))],
  ['says what is no line and stays', () => somebody((socket) => socket.once('data', () => socket.write(alert)))],
  ['speaks first, and waits', () => somebody((socket) => socket.write('login: '))],
  ['speaks TLS only', () => listening(createTlsServer())],
])('a port at which now a foreign server %s stays untouched', async (_, stranger) => {
  await using other = await stranger()
  const dir = join(root, 'redis')
  await (await redisIn(dir)).stop()
  await moveAddress(dir, other.port)
  await using redis = await redisIn(dir)
  expect(new URL(redis.url).port).not.toBe(String(other.port))
})

test('a server that begins an answer like a Redis and closes in the middle of the line is a stranger', async () => {
  await using other = await somebody((socket) => socket.once('data', () => socket.end('+O')))
  expect(await askRedis({ port: other.port, password: 'x' }, 'PING')).toEqual({ kind: 'stranger' })
})

test.each<[string, (socket: Socket) => void]>([
  ['leaves', (socket) => socket.end()],
  ['breaks off', (socket) => socket.resetAndDestroy()],
])('a server that %s without an answer counts as hanging up, unless it accepted the password', async (_, leave) => {
  await using other = await somebody((socket) => socket.once('data', () => leave(socket)))
  expect(await askRedis({ port: other.port, password: 'x' }, 'PING')).toEqual({ kind: 'hangUp' })
  await using ending = await somebody((socket) =>
    socket.once('data', () => {
      socket.write('+OK\r\n')
      socket.once('data', () => leave(socket))
    }),
  )
  expect(await askRedis({ port: ending.port, password: 'x' }, 'SHUTDOWN NOSAVE')).toEqual({ kind: 'silence' })
})

test('a server that does not answer: the error says what to do', async () => {
  await using other = await somebody(() => {})
  const dir = join(root, 'redis')
  await (await redisIn(dir)).stop()
  await moveAddress(dir, other.port)
  await expect(redisIn(dir)).rejects.toThrow(
    `A server at port ${other.port}, where the Redis of ${dir} was, does not answer, so it may be that Redis: end it, or remove ${dir}/address.json.`,
  )
})

test('a copy of a folder whose Redis is in use gets its own Redis and does not touch the other', async () => {
  const dir = join(root, 'redis')
  await using original = await redisIn(dir)
  const copy = join(root, 'copy')
  await mkdir(copy)
  await copyFile(join(dir, 'address.json'), join(copy, 'address.json'))
  await using redis = await redisIn(copy)
  expect(isAlive(original.pid ?? 0)).toBe(true)
  expect(redis.url).not.toBe(original.url)
})

test('a copy at the place of a moved folder does not touch the Redis of the moved folder', async () => {
  const dir = join(root, 'redis')
  await using original = await redisIn(dir)
  const moved = join(root, 'moved')
  await rename(dir, moved)
  await mkdir(dir)
  await copyFile(join(moved, 'address.json'), join(dir, 'address.json'))
  await using redis = await redisIn(dir)
  expect(isAlive(original.pid ?? 0)).toBe(true)
  expect(redis.url).not.toBe(original.url)
})

/** A path that is too long for a socket: the guard listens elsewhere. */
const long = 'deep'.repeat(30)

describe.skipIf(!server).each([
  ['whose guard listens in it', 'redis'],
  ['whose guard listens elsewhere', long],
])('a folder %s', (_, name) => {
  test('a folder that was moved finds its Redis', async () => {
    await using first = await redisIn(join(root, 'old', name))
    await rename(join(root, 'old'), join(root, 'new'))
    await using second = await redisIn(join(root, 'new', name))
    expect(second.pid).toBe(first.pid)
  })

  test.each<[string, (dir: string) => Promise<void>]>([
    ['moved', () => rename(join(root, 'old'), join(root, 'new'))],
    ['removed', () => rm(join(root, 'old'), { recursive: true })],
  ])(
    'a folder that was %s does not share the server of the folder that took its place, and its end ends nothing there',
    async (_, leave) => {
      const dir = join(root, 'old', name)
      const first = await redisIn(dir)
      await leave(dir)
      await using second = await redisIn(dir)
      expect(second.pid).not.toBe(first.pid)
      await first.stop()
      await using third = await redisIn(dir)
      expect(third.pid).toBe(second.pid)
    },
  )
})

test.skipIf(!server)(
  'the Redis of a moved folder whose guard cannot be found ends before the next one starts (SHARED-1)',
  async () => {
    const dir = join(root, 'redis')
    await using first = await redisIn(dir)
    await askRedis(addressOf(first), 'SET greeting hello')
    const moved = join(root, long)
    await rename(dir, moved)
    await using second = await redisIn(moved)
    await waitUntil('the first to be gone', () => !isAlive(first.pid ?? 0))
    expect(await askRedis(addressOf(second), 'STRLEN greeting')).toEqual({ kind: 'answer', text: '5' })
  },
)

describe.skipIf(!server)('a server that survived its guard', () => {
  test('a server that survived its guard ends before the next one starts, also if the folder was moved (SHARED-1)', async () => {
    const dir = join(root, 'redis')
    const first = await redisIn(dir)
    await first.stop()
    await using survivor = await serverIn(dir, addressOf(first))
    const moved = join(root, 'moved')
    await rename(dir, moved)
    await using second = await redisIn(moved)
    expect(second.url).toBe(first.url)
    await waitUntil('the survivor to be gone', () => survivor.exitCode === 0)
  })

  test('a server that survived its guard ends also if the address holds no folder id, as older versions wrote it (SHARED-1)', async () => {
    const dir = join(root, 'redis')
    const first = await redisIn(dir)
    await first.stop()
    await keepOfAddress(dir, 'port', 'password')
    await using survivor = await serverIn(dir, addressOf(first))
    await using second = await redisIn(dir)
    expect(second.url).toBe(first.url)
    await waitUntil('the survivor to be gone', () => survivor.exitCode === 0)
  })

  test('a server that survived its guard gets no request if no password is known that could prove whose server it is', async () => {
    const dir = join(root, 'redis')
    await (await redisIn(dir)).stop()
    const port = await ownPort()
    await using other = await serverIn(root, { port })
    await moveAddress(dir, port)
    await keepOfAddress(dir, 'port')
    await using redis = await redisIn(dir)
    expect(redis.url).not.toContain(`:${port}`)
    expect(other.exitCode).toBe(null)
  })
})
