/** The address that a folder remembers of its last Redis: what is there now may be somebody else's. */
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from '../../src/dev/program.ts'
import { type DevRedis, findOrStartRedis } from '../../src/dev/redis.ts'

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-address-')))
})
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 20 }))

function redisIn(dir: string): Promise<DevRedis> {
  return findOrStartRedis({ mode: 'development', path: process.env.PATH ?? '', dir })
}

/** Somebody else, who says this to each line that is said to them. */
async function somebody(answer: string | undefined): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => answer !== undefined && socket.end(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port, [Symbol.asyncDispose]: close }
}

/** Has the folder remember that its Redis was at this port. */
async function moveAddress(dir: string, port: number): Promise<void> {
  const file = join(dir, 'address.json')
  const address = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
  await writeFile(file, JSON.stringify({ ...address, port }))
}

test('a port at which somebody speaks another protocol by now is left to them', async () => {
  await using other = await somebody('HTTP/1.1 400 Bad Request\r\n\r\n')
  const dir = join(root, 'redis')
  await (await redisIn(dir)).stop()
  await moveAddress(dir, other.port)
  await using redis = await redisIn(dir)
  expect(new URL(redis.url).port).not.toBe(String(other.port))
})

test('of who does not say what they are the error says what to do', { timeout: 90_000 }, async () => {
  await using other = await somebody(undefined)
  const dir = join(root, 'redis')
  await (await redisIn(dir)).stop()
  await moveAddress(dir, other.port)
  await expect(redisIn(dir)).rejects.toThrow(
    `What listens at port ${other.port}, where the Redis of ${dir} was, does not say whether it is that one: end it, or remove ${dir}/address.json.`,
  )
})

test('a copy of a folder whose Redis is in use gets a Redis of its own, and leaves that one alone', async () => {
  const dir = join(root, 'redis')
  await using original = await redisIn(dir)
  const copy = join(root, 'copy')
  await mkdir(copy)
  await copyFile(join(dir, 'address.json'), join(copy, 'address.json'))
  await using redis = await redisIn(copy)
  expect(isAlive(original.pid ?? 0)).toBe(true)
  expect(redis.url).not.toBe(original.url)
})
