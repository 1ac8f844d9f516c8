/** Starting one server until its first answer, with programs that are bad servers. */
import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProgram, isAlive } from '../../src/dev/program.ts'
import { ServerFailedError } from '../../src/dev/redis-unavailable.ts'
import { findLocalServer, type ServerProgram } from '../../src/dev/server-program.ts'
import { startRedis } from '../../src/dev/started-redis.ts'

const path = process.env.PATH ?? ''
const hasServer = (await findProgram(['redis-server', 'valkey-server'], path)) !== undefined

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'troupe-started-')))
})
afterEach(() => rm(root, { recursive: true, force: true, maxRetries: 20 }))

function shell(script: string): ServerProgram {
  return {
    how: 'local server',
    name: 'a shell',
    // The shell itself is there long before, also on a busy machine.
    readyMsMax: 3_000,
    commandAt: () => ({ command: '/bin/sh', args: ['-c', script, root], input: '' }),
  }
}

test('a server that does not answer in time is ended, and the error holds the end of its log (STARTED-1)', async () => {
  const program = shell('echo $$ > "$0/pid"; echo "not yet"; exec sleep 60')
  const starting = startRedis({ program, folder: join(root, 'data'), password: 'x' })
  await expect(starting).rejects.toThrow(/^a shell did not answer within 3 s \(nothing listens\)\. .*:\n {2}not yet$/)
  expect(isAlive(Number(await readFile(join(root, 'pid'), 'utf8')))).toBe(false)
})

test('a throw-away server that does not start leaves no folder', async () => {
  const folder = join(root, 'data')
  const starting = startRedis({ program: shell('echo no; exit 1'), folder, password: 'x', isThrowAway: true })
  await expect(starting).rejects.toThrow(ServerFailedError)
  await expect(stat(folder)).rejects.toThrow('ENOENT')
})

test.skipIf(!hasServer)('another port is used if another program takes the chosen one first', async () => {
  const local = await findLocalServer(path)
  if (local.kind !== 'found') throw new Error(`There is ${local.kind} server.`)
  const other = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  try {
    const started = await startRedis({ program: local.program, folder: join(root, 'data'), password: 'x', port })
    expect(started.address.port).not.toBe(port)
    await started.process.release()
  } finally {
    other.close()
  }
})
