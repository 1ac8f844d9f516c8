/** What `troupe dev` says of kinds, problems and changes, as lines. */
import { expect, test } from 'vitest'
import {
  changedText,
  kindLines,
  kindsChangeText,
  problemLines,
  whereLines,
} from '../../../../src/cli/view/dev/dev-lines.ts'
import { plainPage } from '../plain-page.ts'

const reader = { kind: 'reader', sort: 'handler', model: null, description: 'Reads.' } as const

test('kinds are a table with models where one has a model, and the offline model is explained', () => {
  expect(kindLines([reader], [], plainPage(80))).toEqual([
    '  KIND    SORT     DESCRIPTION',
    '  reader  handler  Reads.',
  ])
  const clerk = { kind: 'clerk', sort: 'agent', model: 'offline/rules', description: 'Sells.' } as const
  expect(kindLines([reader, clerk], [], plainPage(80))).toEqual([
    '  KIND    SORT     MODEL          DESCRIPTION',
    '  reader  handler                 Reads.',
    '  clerk   agent    offline/rules  Sells.',
    '  offline/rules: fixed rules, no language model. For a real one: --model',
  ])
})

test('a problem has a mark before its first line alone, and says where a key belongs', () => {
  const message = 'model openai/gpt needs a key: set OPENAI_API_KEY.'
  expect(problemLines([{ kind: 'clerk', message }], plainPage(40))).toEqual([
    '  ! model openai/gpt needs a key: set',
    '    OPENAI_API_KEY, or write it into',
    '    .env.',
  ])
})

test('places stand below each other', () => {
  const places = [
    ['page', 'http://127.0.0.1:1'],
    ['redis', '.troupe/redis'],
  ] as const
  expect(whereLines(places, plainPage())).toEqual(['  page    http://127.0.0.1:1', '  redis   .troupe/redis'])
})

test('a change names the first file and counts the others, and the kinds that are new or gone', () => {
  expect([changedText(['a.ts']), changedText(['a.ts', 'b.ts', 'c.ts'])]).toEqual(['a.ts', 'a.ts and 2 more'])
  expect(kindsChangeText(['a', 'b'], ['b', 'c', 'd'])).toBe('; new: c, d; gone: a')
  expect(kindsChangeText(['a'], ['a'])).toBe('')
})
