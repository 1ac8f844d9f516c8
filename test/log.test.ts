/** The logger of the program that runs a node, as the layers below know it. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { ConnectOptions } from '../src/client/connect-options.ts'
import { toWorkerLog } from '../src/log.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const

test('each level is logged with its fields and its message', () => {
  const told: unknown[] = []
  const logger = Object.fromEntries(
    levels.map((level) => [level, (...words: unknown[]) => told.push([level, ...words])]),
  )
  const log = toWorkerLog(logger as never)
  for (const level of levels) log[level](`said at ${level}`, { a: 1 })
  log.info('without fields')
  expect(told).toEqual([
    ...levels.map((level) => [level, { a: 1 }, `said at ${level}`]),
    ['info', {}, 'without fields'],
  ])
})

test('a logger that throws breaks nothing', () => {
  const broken = () => {
    throw new Error('EPIPE')
  }
  const log = toWorkerLog(Object.fromEntries(levels.map((level) => [level, broken])) as never)
  for (const level of levels) expect(() => log[level]('x')).not.toThrow()
})

test("the compiler accepts pino, the console and a program's own object as loggers", () => {
  const lines: string[] = []
  const own = Object.assign(Object.create(null), {
    debug() {},
    info: (fields: object, message: string) => lines.push(`${message} ${JSON.stringify(fields)}`),
    warn() {},
    error() {},
  }) as { [level in 'debug' | 'info' | 'warn' | 'error']: (fields: object, message: string) => void }
  const loggers: ConnectOptions['logger'][] = [pino({ level: 'silent' }), console, own]
  expect(loggers).toHaveLength(3)
  toWorkerLog(own).info('said', { a: 1 })
  expect(lines).toEqual(['said {"a":1}'])
})
