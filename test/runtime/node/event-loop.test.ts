/** If code keeps the event loop to itself, the log says who did, for how long, and what the node gave up for it. */
import { performance } from 'node:perf_hooks'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { policy as defaults } from '../../../src/core/policy.ts'
import { ToolExecutor } from '../../../src/runtime/tool/executor.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { callParts } from '../tool/support/call-parts.ts'

const policy = { leaseMs: 2_000, renewEveryMs: 200, leaseMarginMs: 1_000 }

/** Longer than a renewal takes to come, and than a lease is trusted. */
const computesMs = 1_200
function compute(): void {
  for (const until = performance.now() + computesMs; performance.now() < until; );
}

/** How long what a line tells of lasted, by its words, which round to a tenth of a second: a busy machine may have held it up besides. */
const toldMs = (words: string) => Number(/ for (\d+\.\d) s/.exec(words)?.[1]) * 1_000
const isOfComputing = (words: string) => toldMs(words) >= computesMs

interface Line {
  readonly msg: string
  readonly [field: string]: unknown
}

function logged() {
  const lines: Line[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) })
  return { logger, saying: (words: string) => lines.filter(({ msg }) => msg.includes(words)) }
}

test('the log names a receive that blocks its node, and why the turns beside it are abandoned (RENEW-4)', async () => {
  const { logger, saying } = logged()
  const begun = Promise.withResolvers<void>()
  const blocker = defineWorker({
    async receive(_, self) {
      await begun.promise
      compute()
      self.reply('done')
    },
  })
  const atOnce = defineWorker({
    receive(_, self) {
      compute()
      self.reply('done')
    },
  })
  const reasons: unknown[] = []
  const beside = defineWorker({
    async receive(_, self) {
      begun.resolve()
      if (reasons.length > 0) return self.reply('again')
      const { promise, resolve } = Promise.withResolvers<void>()
      self.signal.addEventListener('abort', () => {
        reasons.push(self.signal.reason)
        resolve()
      })
      await promise
    },
  })
  await using troupe = await TestTroupe.start({ workers: { blocker, atOnce, beside }, policy, logger })
  const patient = await troupe.create('beside')
  await begun.promise
  await troupe.create('blocker')
  expect(await patient.result()).toMatchObject({ value: 'again' })
  expect(reasons).toMatchObject([{ code: 'lease_lost', message: expect.stringContaining('(blocked)') }])
  const [standstill] = saying('the event loop of this node stood still for').filter(({ msg }) => isOfComputing(msg))
  expect(standstill).toMatchObject({ lost: expect.any(Number) })
  expect(saying('a turn was given up').some(({ why, kind }) => why === 'blocked' && kind === 'beside')).toBe(true)

  const named = () =>
    saying('receive kept the event loop of its node to itself for').filter(({ msg }) => isOfComputing(msg))
  expect(named()).toEqual([])
  await troupe.create('atOnce')
  await waitUntil('it is named', () => named().length > 0)
  expect(named()).toMatchObject([{ kind: 'atOnce' }])
})

test('a tool that blocks its node is named', async () => {
  const crunch = defineTool({ name: 'crunch', description: 'x', effect: 'pure', run: compute })
  const quick = defineTool({ name: 'quick', description: 'x', effect: 'pure', run: () => 1 })
  const executor = new ToolExecutor({ attempt: () => Promise.reject(new Error('no thread is to be asked for')) }, 200)
  const { parts, lines } = callParts()
  for (const tool of [quick, crunch])
    expect(await executor.run({ tool, input: {}, parts })).toMatchObject({ kind: 'done' })
  const named = lines.filter(({ message }) => isOfComputing(message))
  const message = expect.stringContaining('tool "crunch" kept the event loop of its node to itself for ')
  expect(named).toMatchObject([{ level: 'warn', message }])
})

test('a tool that blocks its node for longer than leases go without renewal is named, even if nothing else is logged', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
  const runFor = async (ms: number) => {
    const run = () => void clock.mockReturnValue(clock() + ms)
    const tool = defineTool({ name: 'crunch', description: 'x', effect: 'pure', run })
    const executor = new ToolExecutor({ attempt: () => Promise.reject(new Error('no thread is to be asked for')) })
    const { parts, lines } = callParts()
    await executor.run({ tool, input: {}, parts })
    return lines.length
  }
  expect(await runFor(defaults.renewEveryMs)).toBe(0)
  expect(await runFor(defaults.renewEveryMs + 1)).toBe(1)
})
