/** Guards that cannot be reached. The error says what to do. */
import { randomInt } from 'node:crypto'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { guardSocket, joinGuarded } from '../../src/dev/guarded-process.ts'

async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-reach-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a folder for sockets that belongs to another user is not used', async () => {
  const folder = join(await temporaryFolder(), 'deep'.repeat(30))
  await mkdir(folder)
  // No user has this id.
  const uid = randomInt(2_000_000_000, 2_100_000_000)
  vi.spyOn(process, 'getuid').mockReturnValue(uid)
  onTestFinished(() => void vi.restoreAllMocks())
  const home = `/tmp/troupe-${uid}`
  await mkdir(home)
  onTestFinished(() => rm(home, { recursive: true }))
  await expect(guardSocket(folder)).rejects.toMatchObject({
    name: 'RedisUnavailableError',
    message: `${home} must be a folder of the current user that nobody else can enter: remove it, or move ${folder} to a shorter path.`,
  })
})

test('a process that listens but sends nothing: the error names its socket', async () => {
  const path = join(await temporaryFolder(), 'guard.sock')
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await expect(joinGuarded(path)).rejects.toMatchObject({
    name: 'RedisUnavailableError',
    message: `The process that listens at ${path} does not answer: end it, and try again.`,
  })
})
