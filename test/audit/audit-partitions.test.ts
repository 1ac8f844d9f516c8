/** audit of several partitions: each is looked at by itself, and all keys of the Redis are walked over once for all of them. */
import { expect, test, vi } from 'vitest'
import { audit } from '../../src/audit/audit.ts'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { partitionKeys, tagOf, workerKeys } from '../../src/store/keys.ts'
import { ScriptCaller } from '../../src/store/script/script.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const partitions = 4
const all = Array.from({ length: partitions }, (_, partition) => partition)

test('workers of sessions that are not there are found in each partition, by one walk over all keys', async () => {
  await using troupe = await TestTroupe.connect({ partitions })
  const { redis, namespace } = troupe
  const roots = all.map((partition) => rootIdOf(newId(partition)))
  const children = all.map((partition) => rootIdOf(newId(partition)))
  for (const partition of all) {
    const tag = tagOf(namespace, partition)
    const of = (id: string) => workerKeys(tag, id)
    await redis.hset(of(roots[partition] as string).record, 'kind', 'echo', 'status', 'idle')
    await redis.hset(
      of(children[partition] as string).record,
      'path1',
      `${rootIdOf(newId(partition))}:1`,
      'status',
      'idle',
    )
    await redis.rpush(of(roots[partition] as string).log, '{}')
  }
  const scan = vi.spyOn(redis, 'scan')
  const caller = new ScriptCaller(redis)
  const stores = all.map(
    (partition) => new AuditStore(redis, caller, partitionKeys(tagOf(namespace, partition)), partition, 10_000),
  )
  const { findings } = await audit(stores)
  const found = (rule: string) => new Set(findings.flatMap((one) => (one.rule === rule ? [one.workerId] : [])))
  expect(found('index')).toEqual(new Set(roots))
  expect(found('orphan')).toEqual(new Set(children))
  expect(scan.mock.calls.filter(([cursor]) => cursor === '0')).toHaveLength(1)
})
