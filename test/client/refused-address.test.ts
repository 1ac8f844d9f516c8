/** Clients and nodes that are given a wrong address, or a user who may not do what they need. */
import { expect, inject, test } from 'vitest'
import { connect } from '../../src/client/client.ts'
import { startNode } from '../../src/compose.ts'
import { defineWorker } from '../../src/core/define-worker.ts'
import { ConfigError } from '../../src/core/errors.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const workers = { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) }

const starts: readonly [string, (redisUrl: string) => Promise<unknown>][] = [
  ['a client', (redisUrl) => connect({ redisUrl })],
  ['a node', (redisUrl) => startNode({ redisUrl, workers })],
]

test.each(starts)('%s with a wrong address is refused before a connection is opened', async (_, start) => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  await expect(start(`${proxy.url}/abc`)).rejects.toThrow(ConfigError)
  await expect(start(`${proxy.url}/abc`)).rejects.toThrow(/database in the Redis URL/)
  expect(proxy.opened).toBe(0)
})
