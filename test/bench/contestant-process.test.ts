/** The process of a contestant that does not answer is ended. */
import { expect, inject, test } from 'vitest'
import { ContestantProcess } from '../../bench/measure/contestant-process.ts'
import { isAlive } from '../../src/dev/program.ts'
import { newNamespace } from '../support/namespace.ts'
import { TcpProxy } from '../support/redis/tcp-proxy.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const load = { inFlight: 1, warmUpMs: 10, measuredMs: 10 }
const late = /^its process did not answer within 0\.3 s, and was killed$/

test('a contestant whose Redis is silent is killed when its time is over', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  proxy.blackhole()
  const contestant = new ContestantProcess('raw-job')
  const pid = contestant.pid as number
  const place = { redisUrl: proxy.url, namespace: newNamespace() }
  await expect(contestant.measure({ place, load }, 300)).rejects.toThrow(late)
  await waitUntil('it is gone', () => !isAlive(pid))
  await contestant.stop()
})

test('a contestant that stands still can be stopped', async () => {
  const contestant = new ContestantProcess('raw-job')
  const pid = contestant.pid as number
  process.kill(pid, 'SIGSTOP')
  await contestant.stop()
  expect(isAlive(pid)).toBe(false)
})
