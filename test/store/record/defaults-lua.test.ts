/** The value of an absent field is written twice, for scripts and for everyone else: the two agree. */
import { globSync, readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { rootScriptFields, sessionFields } from '../../../src/store/record/session-record.ts'
import { scriptFields, workerFields } from '../../../src/store/record/worker-record.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { runLua } from '../support/run-lua.ts'

const table = [...Object.values(workerFields), ...Object.values(sessionFields)]
const names = new Set([...table.map(({ name }) => name), ...scriptFields, ...rootScriptFields])
const folder = new URL('../../../src/store/lua/', import.meta.url)
const scripts = globSync('**/*.lua', { cwd: folder }).map((file) => readFileSync(new URL(file, folder), 'utf8'))

test('scripts and readers take an absent field for the same value', async () => {
  const redis = openRedis(inject('redisUrl'))
  const all = [...names]
  const said = await runLua<string | null>(redis, ['record/defaults'], 'atStart[case]', all)
  const ofScripts = new Map(all.flatMap((name, index) => (said[index] == null ? [] : [[name, said[index]]])))
  for (const { name, absent } of table) {
    // Scripts write limits and allowances as they come, and read them one by one where they need them.
    const isOfReaders = absent === null || name === 'limits' || name === 'caps'
    expect([name, ofScripts.get(name) ?? null]).toEqual([name, isOfReaders ? null : absent])
  }
  redis.disconnect()
})

test('scripts contain no default of a record field: the table has them', () => {
  const spelled = scripts.flatMap((text) =>
    [...text.matchAll(/\b(?:record|fields|root)\.(\w+) or ('[^']*'|\d+)/g)]
      .filter(([, name]) => names.has(name as string) && name !== 'commit')
      .map(([all]) => all),
  )
  // `commit` has no default of its own: its parts have defaults.
  expect(spelled).toEqual([])
})

test('scripts write no field to a record that no table knows', () => {
  const written = scripts.flatMap((text) => [
    ...[...text.matchAll(/\bchange\(turn, '(\w+)'/g)].map(([, name]) => name),
    ...[...text.matchAll(/\bset\('(\w+)'/g)].map(([, name]) => name),
  ])
  expect([...new Set(written)].filter((name) => name !== 'path' && !names.has(name as string))).toEqual([])
})
