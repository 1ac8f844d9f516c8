/** What a test made in a Redis of its user is removed at its end; what could not be removed is named. */
import { Redis } from 'ioredis'
import { expect, inject, onTestFinished, test } from 'vitest'
import { removeKeys } from '../../../src/testing/crash/remove-keys.ts'
import { newNamespace } from '../../support/namespace.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

function warnings(): string[] {
  const found: string[] = []
  const note = ({ message }: Error) => found.push(message)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  return found
}

test('the keys of the namespaces go, and those of others stay', async () => {
  const redis = new Redis(inject('redisUrl'))
  onTestFinished(() => redis.disconnect())
  const [mine, other] = [newNamespace(), newNamespace()]
  for (const namespace of [mine, other]) await redis.set(`{${namespace}.0}:meta`, 'x')
  const said = warnings()
  await removeKeys(inject('redisUrl'), [mine])
  expect(await redis.exists(`{${mine}.0}:meta`)).toBe(0)
  expect(await redis.exists(`{${other}.0}:meta`)).toBe(1)
  expect(said).toEqual([])
  await redis.del(`{${other}.0}:meta`)
})

test('keys that a Redis keeps because it does not answer are named in a warning, without its password', async () => {
  const said = warnings()
  await removeKeys('redis://user:hush@127.0.0.1:1', ['one', 'two'], 200)
  await waitUntil('the warning', () => said.length > 0)
  expect(said).toEqual([
    expect.stringMatching(/^keys of a test are left in your Redis, under \{one\.0\}, \{two\.0\}: /),
  ])
  expect(said[0]).not.toContain('hush')
})
