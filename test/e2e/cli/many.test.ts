/** The command line with very many records: a command about one record does not read all the others. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { partitionKeys, tagOf, workerKeys } from '../../../src/store/keys.ts'
import { CliProject } from '../../cli/cli-project.ts'
import { RedisServer } from '../../support/redis/redis-server.ts'
import { TcpProxy } from '../../support/redis/tcp-proxy.ts'
import { commandsNaming } from '../../support/redis/watched-commands.ts'

const cli = new CliProject('many', { withNode: true })
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

describe('a session with many workers', () => {
  it.each([
    [['session', 'result']],
    [['session', 'close']],
    [['session', 'cancel']],
    [['worker', 'list', '--limit', '2', '--session']],
  ])('%j reads only the workers that it shows', async (command) => {
    const { sessionId } = await cli.submit('parent')
    await cli.waitForEnd(sessionId)
    const tag = tagOf(cli.namespace, 0)
    const last = (await redis.lrange(`${tag}:s:${sessionId}:workers`, -1, -1))[0] as string
    const { record } = workerKeys(tag, last)
    const asked = await commandsNaming(redis, record, async () => {
      expect(await cli.project.ask([...command, sessionId])).toMatchObject({ code: 0 })
    })
    // Sweeps also read records of a cancelled session, but only a report reads the newest history entry.
    expect(asked.filter(({ name }) => name === 'lindex')).toEqual([])
  })
})

describe('many dead letters', () => {
  it('many dead letters are shown up to the error that stopped their redrive', async () => {
    await using server = await RedisServer.start({ durability: 'none' })
    const alone = new Redis(server.url)
    using _closing = { [Symbol.dispose]: () => alone.disconnect() }
    const at = ['--redis-url', server.url]
    const submit = await cli.project.ask(['submit', 'nobody', 'one', '--json', ...at])
    const [{ workerId } = { workerId: '' }] = submit.objects as { workerId: string }[]
    const { dead } = partitionKeys(tagOf(cli.namespace, 0))
    const adding = alone.pipeline()
    for (let number = 0; number < 2_000; number++) adding.xadd(dead, '*', 'worker', workerId, 'mail', 'i\t-\t1')
    await adding.exec()
    // Each answer comes late, so that the command is not done before Redis is full.
    await using proxy = await TcpProxy.start(server.url)
    proxy.delay(10)
    const command = cli.project.start(['mailbox', 'redrive', '--all', '--json', '--redis-url', proxy.url])
    await command.saw('"redriven"', 'stdout')
    command.kill('SIGSTOP')
    await alone.config('SET', 'maxmemory', '1')
    command.kill('SIGCONT')
    const { code, stderr, objects } = await command.ended
    const error = objects.pop()
    expect({ code, error: error?.code }).toEqual({ code: 69, error: 'store_refused' })
    const told = new RegExp(
      `^troupe: Redis takes no writes now; [^\\n]*\\ntroupe: only these ${objects.length} are done; the same command continues with the others\ntroupe: .*OOM`,
    )
    expect(stderr).toMatch(told)
    await alone.config('SET', 'maxmemory', '0')
    const rest = await cli.project.ask(['mailbox', 'redrive', '--all', '--json', ...at])
    const back = [...objects, ...rest.objects].filter(({ status }) => status === 'redriven')
    expect(back.map(({ messageId }) => messageId)).toEqual(back.map((_, index) => `inbox-${index + 1}`))
    expect(back).toHaveLength(999)
    // The mailbox is full, so that the other letters can only be dismissed.
    const dismissed = await cli.project.ask(['mailbox', 'dismiss', '--all', ...at])
    expect(dismissed.stderr).toBe('1001 dead letters: 1001 dismissed.\n')
    const { stdout } = await cli.project.ask(['mailbox', 'dead', '--limit', '1', ...at])
    expect(stdout).toMatch(/^id .* since then .*\n\d+-\d+ .* dismissed /i)
    expect((await cli.project.ask(['doctor', ...at])).stdout).toContain('all dead letters were put back or dismissed')
  })
})

describe('dead letters', () => {
  it('dead letters are shown one by one with their outcome, and a refused one gives exit code 1', async () => {
    const other = ['--namespace', `${cli.namespace}-letters`]
    const { dead } = partitionKeys(tagOf(`${cli.namespace}-letters`, 0))
    const [{ workerId, sessionId } = { workerId: '', sessionId: '' }] = (
      await cli.project.ask(['submit', 'nobody', 'one', '--json', ...other])
    ).objects as { workerId: string; sessionId: string }[]
    const put = () =>
      redis.xadd(dead, '*', 'session', sessionId, 'worker', workerId, 'evidence', '{"starts":6}', 'mail', 'i\t-\t1')
    const [first, second] = [await put(), await put()]
    const told = async (...words: string[]) => {
      const { code, stdout } = await cli.project.ask(['mailbox', ...words, ...other])
      return [
        code,
        ...stdout
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/ {2,}/)),
      ]
    }
    const one = [workerId, '--id', String(first)]
    const head = ['ID', 'WORKER', 'WHAT', 'PUT BACK AS', 'WHY NOT']
    expect(await told('redrive', ...one)).toEqual([0, head, [first, workerId, 'redriven', 'inbox-1']])
    expect(await told('redrive', ...one)).toEqual([0, head, [first, workerId, 'put back before', 'inbox-1']])
    expect(await told('dead')).toEqual([
      0,
      ['ID', 'PUT ASIDE', 'WORKER', 'KILLED BY', 'MESSAGE', 'SINCE THEN', 'WHY'],
      expect.arrayContaining([second, workerId, '{"starts":6}']),
      expect.arrayContaining([first, workerId, 'put back as inbox-1', '{"starts":6}']),
    ])
    await cli.project.ask(['session', 'cancel', sessionId, ...other])
    const refused = [second, workerId, 'refused', expect.stringMatching(/cannot go back .* --new-session$/)]
    expect(await told('redrive', workerId)).toEqual([1, head, refused])
    const dismissed = [head[0], head[1], head[2], head[4]]
    expect(await told('dismiss', workerId)).toEqual([0, dismissed, [second, workerId, 'dismissed']])
    const again = [workerId, '--id', String(second)]
    const begun = [second, workerId, 'redriven', expect.stringMatching(/^session [0-9a-f-]{36}$/)]
    expect(await told('redrive', ...again, '--new-session')).toEqual([0, head, begun])
    expect(await told('dismiss', ...again)).toEqual([0, dismissed, [second, workerId, 'dismissed before']])
  })
})

describe('a list that its limit cuts short says so:', () => {
  it('a mailbox', async () => {
    const { workerId } = await cli.submit('nobody', 'one')
    await cli.project.ask(['send', workerId, 'two'])
    const all = await cli.project.ask(['mailbox', 'list', workerId])
    expect(all).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/one\n.*two\n$/) })
    const some = await cli.project.ask(['mailbox', 'list', workerId, '--limit', '1'])
    expect(some.stdout).not.toContain('two')
    expect(some.stderr).toBe('The first 1 of each lane are shown; more with --limit.\n')
  })

  it('dead letters', async () => {
    const { workerId, sessionId } = await cli.submit('nobody', 'one')
    const { dead } = partitionKeys(tagOf(cli.namespace, 0))
    const letter = ['session', sessionId, 'worker', workerId, 'evidence', '{}', 'mail', 'u\t-\t1']
    for (const _ of [1, 2]) await redis.xadd(dead, '*', ...letter)
    expect((await cli.project.ask(['mailbox', 'dead', '--limit', '1'])).stderr).toBe(
      'Only the newest one is shown; more with --limit.\n',
    )
    expect((await cli.project.ask(['mailbox', 'dead'])).stderr).toBe('')
  })
})
