/** `npm run bench` when somebody dies: how it ends, and what it leaves. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { isAlive } from '../../src/dev/program.ts'
import { waitUntil } from '../support/wait-until.ts'

const program = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const started = new Set<ChildProcess>()

afterEach(() => {
  for (const bench of started) bench.kill('SIGKILL')
  started.clear()
})

/** A bench that has begun to measure a contestant. */
async function measuring() {
  const bench = spawn(process.execPath, ['--conditions=troupe-source', program, '--only', 'P4'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  started.add(bench)
  const ended = once(bench, 'exit') as Promise<[code: number | null, signal: string | null]>
  let told = ''
  bench.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  await waitUntil('it measures', () => told.includes('rehearsal:'), 120_000)
  const redis = Number(/process (\d+)/.exec(told)?.[1])
  expect(isAlive(redis)).toBe(true)
  return { bench, redis, ended, told: () => told }
}

describe('the bench', () => {
  test('whose Redis is killed says so and ends', async () => {
    const { redis, ended, told } = await measuring()
    process.kill(redis, 'SIGKILL')
    expect(await ended).toEqual([69, null])
    expect(told()).toContain(`, process ${redis}, has ended: nothing more can be measured.\n`)
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)('that gets a %s leaves no Redis behind', async (signal) => {
    const { bench, redis, ended } = await measuring()
    bench.kill(signal)
    expect(await ended).toEqual(signal === 'SIGKILL' ? [null, signal] : [130, null])
    await waitUntil('its Redis is gone', () => !isAlive(redis))
  })
})
