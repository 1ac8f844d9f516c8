/** The workers of docs/sagas.md, as a reader would copy them, against the package that npm would install. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { newNamespace } from '../../support/namespace.ts'
import { PackedProject } from '../../support/package/packed-project.ts'

const page = readFileSync(new URL('../../../docs/sagas.md', import.meta.url), 'utf8')
let project: PackedProject

/** The program that the page shows after naming this file. */
function programOf(file: string): string {
  const program = /```ts\n([\s\S]*?)```/.exec(page.slice(page.indexOf(`\`${file}\``)))?.[1]
  if (program === undefined) throw new Error(`docs/sagas.md shows no program after it names ${file}.`)
  return program
}

/** A system outside of troupe that books parts of a travel. A slow part is booked before its call returns, and nothing returns before the signal. */
const travel = `
export const booked = new Map<string, string>()
const released = new Set<string>()
export async function book(key: string, what: string, signal: AbortSignal): Promise<string> {
  if (what === 'ferry') throw Object.assign(new Error('no ferry goes'), { retryable: false })
  if (!released.has(key)) booked.set(key, what)
  if (what.startsWith('slow')) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return what
}
export async function release(key: string): Promise<void> {
  released.add(key)
  booked.delete(key)
}
`

const program = `
import { once } from 'node:events'
import { connect, startNode } from 'troupe'
import booking from './workers/booking.ts'
import trip from './workers/trip.ts'
import { booked } from './travel.ts'
const at = { redisUrl: process.env.REDIS_URL, namespace: process.env.TROUPE_NAMESPACE }
await using node = await startNode({ ...at, workers: { booking: { ...booking, retries: 0 }, trip } })
await using troupe = await connect(at)
const told: unknown[] = []
const tell = async (session) => told.push([(await session.result()).status, [...booked.values()].sort()])
const whenBooked = async (count: number) => {
  while (booked.size < count) await new Promise((resolve) => setTimeout(resolve, 10))
}
const create = (input) => troupe.sessions.create({ kind: 'trip', input })
await tell(await create(['hotel', 'train']))
booked.clear()
await tell(await create(['hotel', 'ferry', 'train']))
const cancelled = await create(['hotel', 'slow train'])
await whenBooked(2)
await cancelled.cancel('ill')
await tell(cancelled)
const one = await create(['hotel', 'slow train'])
await whenBooked(2)
const { workers } = await one.report()
await troupe.workers.get(workers.find(({ name }) => name === 'slow train').id).cancel('no seat')
await tell(one)
console.log(JSON.stringify(told))
`

beforeAll(async () => {
  project = await PackedProject.create({ REDIS_URL: inject('redisUrl'), TROUPE_NAMESPACE: newNamespace() })
  for (const file of ['workers/booking.ts', 'workers/trip.ts']) await project.write(file, programOf(file))
  await project.write('travel.ts', travel)
  await project.write('prove.ts', program)
})
afterAll(() => project?.[Symbol.asyncDispose]())

describe('docs/sagas.md', () => {
  test('a saga keeps bookings together, and releases all of them when a part fails or is cancelled, or the trip is', async () => {
    const { code, stdout, stderr } = await project.node(['prove.ts'])
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual([
      ['completed', ['hotel', 'train']],
      ['failed', []],
      ['cancelled', []],
      ['failed', []],
    ])
  })
})
