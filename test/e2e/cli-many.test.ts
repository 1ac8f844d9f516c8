/** What the command line reads and says where there is very much: no question about one thing reads all the others. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { tagOf, workerKeys } from '../../src/store/keys.ts'
import { CliProject } from '../cli/cli-project.ts'
import { commandsNaming } from '../support/watched-commands.ts'

const cli = new CliProject('many', { withNode: true })
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

describe('of a session with many workers', () => {
  it.each([
    [['session', 'result']],
    [['session', 'close']],
    [['session', 'cancel']],
    [['worker', 'list', '--limit', '2', '--session']],
  ])('%j reads no more workers than it tells of', async (command) => {
    const { sessionId } = await cli.submit('parent')
    await cli.waitForEnd(sessionId)
    const tag = tagOf(cli.namespace, 0)
    const last = (await redis.lrange(`${tag}:s:${sessionId}:workers`, -1, -1))[0] as string
    const { record } = workerKeys(tag, last)
    const asked = await commandsNaming(redis, record, async () => {
      expect(await cli.project.run([...command, sessionId])).toMatchObject({ code: 0 })
    })
    // Sweeps read records as well, of a session that is cancelled; its newest entry is read for reports alone.
    expect(asked.filter(({ name }) => name === 'lindex')).toEqual([])
  })
})
