/** A read of a key of another sort gives something else; any other error is passed on. */
import type { ChainableCommander } from 'ioredis'
import { expect, test } from 'vitest'
import { orElse, repliesOf } from '../../../src/store/script/replies.ts'

const wrongSort = new Error('WRONGTYPE Operation against a key holding the wrong kind of value')
const away = new Error('Connection is closed.')
const giving = (...replies: [Error | null, unknown][]) =>
  ({ exec: async () => replies }) as unknown as ChainableCommander

test('a key of another type is read as the default, and a Redis that is away is an error', async () => {
  expect(await orElse(Promise.resolve('read'), null)).toBe('read')
  expect(await orElse(Promise.reject(wrongSort), null)).toBeNull()
  await expect(orElse(Promise.reject(away), null)).rejects.toBe(away)
})

test('a pipeline tells which command met a key of another type, and fails if any command failed otherwise', async () => {
  expect(await repliesOf(giving([null, 'a'], [wrongSort, undefined], [null, 'c']))).toEqual(['a', wrongSort, 'c'])
  await expect(repliesOf(giving([null, 'a'], [away, undefined]))).rejects.toBe(away)
})
