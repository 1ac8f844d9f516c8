/** How `npm run bench` ends when its Redis or the bench itself is killed, and that nothing it started outlives it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { isAlive } from '../../src/dev/program.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const program = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const started = new Set<ChildProcess>()

afterEach(() => {
  for (const bench of started) bench.kill('SIGKILL')
  started.clear()
})

/** A bench that has begun to measure a contestant of this figure. */
async function measuring(figure: string) {
  const bench = spawn(process.execPath, ['--conditions=troupe-source', program, '--only', figure], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  started.add(bench)
  const ended = once(bench, 'exit') as Promise<[code: number | null, signal: string | null]>
  let printed = ''
  bench.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  await waitUntil('the bench measures a contestant', () => printed.includes('rehearsal:'))
  const redis = Number(/process (\d+)/.exec(printed)?.[1])
  expect(isAlive(redis)).toBe(true)
  return { bench, redis, ended, printed: () => printed }
}

describe('the bench', () => {
  test('the bench says that its Redis was killed, and ends', async () => {
    const { redis, ended, printed } = await measuring('P4')
    process.kill(redis, 'SIGKILL')
    expect(await ended).toEqual([69, null])
    expect(printed()).toContain(`, process ${redis}, has ended: nothing more can be measured.\n`)
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'the bench leaves no Redis and no busy process behind after a %s',
    async (signal) => {
      const { bench, redis, ended, printed } = await measuring('P8a')
      const busy = (/busy process \(processes ([\d, ]+)\)/.exec(printed())?.[1] ?? '').split(', ').map(Number)
      expect(busy.every(isAlive)).toBe(true)
      bench.kill(signal)
      expect(await ended).toEqual(signal === 'SIGKILL' ? [null, signal] : [130, null])
      await waitUntil('its Redis and its busy processes are gone', () => ![redis, ...busy].some(isAlive))
    },
  )
})
