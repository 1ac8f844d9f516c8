/** `troupe audit`: its exit codes, and that it writes nothing. */
import { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { rootIdOf } from '../../../src/core/ids.ts'
import { partitionKeys, tagOf, workerKeys } from '../../../src/store/keys.ts'
import { CliProject, unknownId } from '../../cli/cli-project.ts'

const cli = new CliProject('audit', { withNode: false })

async function withRedis<Result>(use: (redis: Redis) => Promise<Result>): Promise<Result> {
  const redis = new Redis(inject('redisUrl'))
  try {
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}

const auditIn = (namespace: string, ...args: string[]) =>
  cli.project.ask(['audit', ...args, '--json', '--namespace', namespace])

async function submitted(namespace: string): Promise<string> {
  const { objects } = await cli.project.ask(['submit', 'echo', 'x', '--json', '--namespace', namespace])
  return String(objects[0]?.sessionId)
}

describe.concurrent('troupe audit', () => {
  it('troupe audit says that nothing was ever started in a namespace, and writes nothing to it', async () => {
    const namespace = `${cli.namespace}-nothere`
    const { code, objects, stderr } = await auditIn(namespace)
    expect(stderr).toBe(
      `troupe: nothing was ever started in namespace "${namespace}": check --namespace or TROUPE_NAMESPACE (namespace in code).\n`,
    )
    expect({ code, error: objects[0]?.code }).toEqual({ code: 2, error: 'config_invalid' })
    expect(await withRedis((redis) => redis.keys(`{${namespace}*`))).toEqual([])
  })

  it('troupe audit refuses a namespace with another number of partitions', async () => {
    const namespace = `${cli.namespace}-partitions`
    await submitted(namespace)
    const env = { TROUPE_PARTITIONS: '3' }
    const { code, stderr } = await cli.project.run(['audit', '--namespace', namespace], { env })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has 1 partition, not 3') })
  })

  it('troupe partition raise says of one partition that there is nothing to do', async () => {
    const namespace = `${cli.namespace}-raised`
    await submitted(namespace)
    const { stdout } = await cli.project.ask(['partition', 'raise', '1', '--namespace', namespace])
    expect(stdout).toBe(`namespace ${namespace} has 1 partition: nothing to do\n`)
  })

  it('troupe audit exits with 0 without a finding, with 1 for a finding, and with 66 for an unknown session', async () => {
    const namespace = `${cli.namespace}-codes`
    const sessionId = await submitted(namespace)
    expect(await auditIn(namespace, sessionId)).toMatchObject({ code: 0, objects: [{ type: 'audit', sessions: 1 }] })
    const unknown = await auditIn(namespace, unknownId)
    expect(unknown).toMatchObject({ code: 66, objects: [{ type: 'error', code: 'session_not_found' }] })
    const strange = await auditIn(namespace, unknownId.replace(/0000$/, '0005'))
    expect(strange).toMatchObject({ code: 66, objects: [{ type: 'error', code: 'session_not_found' }] })
    const { log } = workerKeys(tagOf(namespace, 0), rootIdOf(sessionId))
    await withRedis((redis) => redis.set(log, 'not what it was'))
    const { code, objects, stderr } = await auditIn(namespace)
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(objects[1]).toMatchObject({ type: 'finding', invariant: 'key', sessionId })
    expect(objects[1]?.what).toBe(`key ${log} is a string and should be a list`)
  })

  it('troupe audit exits with 70 when it cannot read a key, and names the key', async () => {
    const namespace = `${cli.namespace}-fault`
    await submitted(namespace)
    const { meta } = partitionKeys(tagOf(namespace, 0))
    await withRedis((redis) => redis.multi().del(meta).set(meta, 'not what it was').exec())
    const { code, objects, stderr } = await auditIn(namespace)
    expect({ code, error: objects[0]?.code }).toEqual({ code: 70, error: 'bug' })
    expect(stderr).toContain(`key ${meta} should be a hash`)
  })

  it('troupe audit exits with 69 without Redis', async () => {
    const { code } = await cli.project.ask(['audit', '--redis-url', 'redis://127.0.0.1:1'])
    expect(code).toBe(69)
  })
})
