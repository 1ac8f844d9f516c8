/** What the command line reads and says where there is very much: no question about one thing reads all the others. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionKeys, tagOf, workerKeys } from '../../src/store/keys.ts'
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

describe('what is cut off says so:', () => {
  it('a mailbox', async () => {
    const { workerId } = await cli.submit('nobody', 'one')
    await cli.project.run(['send', workerId, 'two'])
    const all = await cli.project.run(['mailbox', 'list', workerId])
    expect(all).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/one\n.*two\n$/) })
    const some = await cli.project.run(['mailbox', 'list', workerId, '--limit', '1'])
    expect(some.stdout).not.toContain('two')
    expect(some.stderr).toBe('The first 1 of each lane are shown; more with --limit.\n')
  })

  it('dead letters', async () => {
    const { workerId, sessionId } = await cli.submit('nobody', 'one')
    const { dead } = partitionKeys(tagOf(cli.namespace, 0))
    const letter = ['session', sessionId, 'worker', workerId, 'evidence', '{}', 'mail', 'u\t-\t1']
    for (const _ of [1, 2]) await redis.xadd(dead, '*', ...letter)
    expect((await cli.project.run(['mailbox', 'dead', '--limit', '1'])).stderr).toBe(
      'The newest 1 are shown; more with --limit.\n',
    )
    expect((await cli.project.run(['mailbox', 'dead'])).stderr).toBe('')
  })
})
