/** The log of a node on a terminal. Its JSON for programs is tested with the command (test/e2e/cli/cli.test.ts). */
import { expect, test, vi } from 'vitest'
import { serviceLogger } from '../../../src/cli/host/local-node.ts'
import { readConfig } from '../../../src/config.ts'

test.each([
  ['info', ['12:00:01  reader  info  read it  files=3', '12:00:01  node  warn  full']],
  ['warn', ['12:00:01  node  warn  full']],
  ['silent', []],
])('the level %s selects plain lines on a terminal', async (logLevel, lines) => {
  vi.useFakeTimers({ now: new Date(2026, 10, 21, 12, 0, 1) })
  const written: string[] = []
  const logger = await serviceLogger(readConfig({ logLevel }, {}), true, (line) => written.push(line))
  logger.info({ kind: 'reader', files: 3 }, 'read it')
  logger.warn('full')
  vi.useRealTimers()
  expect(written).toEqual(lines)
})
