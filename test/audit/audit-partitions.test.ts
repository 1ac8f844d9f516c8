/** audit of several partitions: each is looked at by itself, and all keys of the Redis are walked over once for all of them. */
import { expect, test, vi } from 'vitest'
import { audit } from '../../src/audit/audit.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { newId, partitionOf, rootIdOf } from '../../src/core/ids.ts'
import { AuditStore } from '../../src/store/audit/audit-store.ts'
import { gateKeys, gatesKey, partitionKeys, tagOf, workerKeys } from '../../src/store/keys.ts'
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

test('runs of other partitions that keep a place at a gate and are over are found', async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  await using troupe = await TestTroupe.start({ workers: { echo }, partitions, client: { partitions } })
  const made = await Promise.all(Array.from({ length: 8 }, (_, number) => troupe.create('echo', number)))
  const [session] = made.filter(({ id }) => partitionOf(id) > 0)
  await Promise.all(made.map((one) => one.result()))
  const { redis, tag } = troupe
  const [over, gone] = [session?.rootId ?? '', rootIdOf(newId(2))]
  const gate = gateKeys(tag, 'echo:runs:all')
  const hourAgo = Date.now() - 3_600_000
  // No node hears of them.
  await redis.zadd(gatesKey(tag), 1e15, 'echo:runs:all')
  await redis.zadd(gate.in, hourAgo, `echo ${gone}:0 all -`)
  await redis.zadd(gate.waiting, hourAgo, `echo ${over}:0 all -`)
  const places = async () =>
    (await troupe.client.audit()).findings.filter(({ rule }) => rule.startsWith('orphan-guest'))
  // It recorded its end just now: its partition may still have to tell it.
  expect(await places()).toMatchObject([{ workerId: gone, what: expect.stringContaining('which has no record') }])
  const { log } = workerKeys(tagOf(troupe.namespace, partitionOf(over)), over)
  const last = (await redis.lindex(log, -1)) ?? ''
  await redis.lset(log, -1, last.replace(/"at":\d+/, `"at":${hourAgo}`))
  const both = [{ workerId: gone }, { workerId: over, what: expect.stringContaining('whose run is over') }]
  expect(await places()).toMatchObject(both)
  // It has committed since it stood there, and waits for another turn.
  const { record } = workerKeys(tagOf(troupe.namespace, partitionOf(over)), over)
  await redis.hset(record, 'status', 'queued')
  expect(await places()).toMatchObject(both)
  // It is in progress by its own record, whatever it waits for now.
  await redis.hset(record, { status: 'parked', gates: 'in all - 0' })
  expect(await places()).toMatchObject([{ workerId: gone }])
})
