/** What somebody has set for one agent. */
import { expect, test } from 'vitest'
import {
  type Configuration,
  type ConfigurationChange,
  configurationAfter,
  decodeConfiguration,
  encodeConfiguration,
} from '../../../src/core/worker/message/configuration.ts'

const before: Configuration = { model: 'a/b', tools: ['look'] }

test.each<[ConfigurationChange, Configuration]>([
  [{}, before],
  [{ model: 'c/d' }, { model: 'c/d', tools: ['look'] }],
  [
    { model: undefined, settings: { temperature: 0 } },
    { ...before, settings: { temperature: 0 } },
  ],
  [{ tools: null }, { model: 'a/b' }],
  [{ model: null, tools: null }, {}],
])('the change %j of a configuration gives %j', (change, after) => {
  expect(configurationAfter(before, change)).toStrictEqual(after)
  expect(decodeConfiguration(encodeConfiguration(after)) ?? {}).toStrictEqual(after)
})

test('a configuration that another program wrote is none', () => {
  expect(['', 'null', '[]x', '7'].map(decodeConfiguration)).toEqual([null, null, null, null])
})
