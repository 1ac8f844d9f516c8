/** Only a command that creates sets a namespace up, with its number of partitions; a command that reads or changes does not. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { rootIdOf } from '../../../../src/core/ids.ts'
import { partitionKeys, tagOf } from '../../../../src/store/keys.ts'
import { CliProject, unknownId } from '../../../cli/cli-project.ts'

const cli = new CliProject('setup', { withNode: false })
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(() => redis.disconnect())

const worker = rootIdOf(unknownId)

describe('a namespace that was never set up', () => {
  const asking = [
    'doctor',
    'kinds',
    'session list',
    `session show ${unknownId}`,
    `session tree ${unknownId}`,
    `session result ${unknownId} --wait`,
    `session cancel ${unknownId}`,
    'session prune',
    'worker list',
    `worker show ${worker}`,
    `worker history ${worker}`,
    `mailbox list ${worker}`,
    'mailbox dead',
    'mailbox redrive --all',
    `send ${worker} hello`,
  ]
  it.concurrent.each(asking)('a namespace that was never set up stays so after: %s', async (line) => {
    const namespace = `${cli.namespace}-${asking.indexOf(line)}`
    const { stderr } = await cli.project.ask([...line.split(' '), '--namespace', namespace])
    expect(stderr).toMatch(line.includes('0199') ? /^troupe: (session|worker) \S+ is not known: / : '')
    expect(await redis.keys(`{${namespace}.*`)).toEqual([])
  })

  it('a namespace that was never set up gets its partitions from a node', async () => {
    const namespace = `${cli.namespace}-node`
    await cli.project.ask(['session', 'list', '--namespace', namespace])
    const env = { TROUPE_PARTITIONS: '4', TROUPE_NAMESPACE: namespace }
    const node = cli.project.start(['node'], { env })
    await node.saw('is ready', 'stdout')
    expect(await redis.hget(partitionKeys(tagOf(namespace, 0)).meta, 'partitions')).toBe('4')
    node.kill('SIGTERM')
    await node.ended
  })
})
