/** What a JSON text from a stranger may hold, which is checked before it is parsed. */
import { expect, test } from 'vitest'
import { jsonTextProblem } from '../../../src/core/check/json-text.ts'

const bounds = { depthMax: 3, partsMax: 6 }

test.each([
  ['null', null],
  ['', null],
  ['[[[]]]', null],
  ['[[[[]]]]', 'is nested more than 3 deep'],
  ['{"a":{"b":{"c":{}}}}', 'is nested more than 3 deep'],
  ['[{},{},{},{},{}]', null],
  ['[{},{},{},{},{},{}]', 'has more than 6 objects, lists and names of fields'],
  ['{"a":1,"b":2,"c":3,"d":4,"e":5}', null],
  ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', 'has more than 6 objects, lists and names of fields'],
  ['"[[[[[[[[{{{{::::::"', null],
  ['"\\"[[[[[[[[\\\\"', null],
  ['["\\\\",[[[', 'is nested more than 3 deep'],
  ['"it has no end [[[[[[[', null],
  ['"it was cut\n"[[[["\n"[[[["', null],
  [']]]][[[[', null],
])('%s: %j', (text, problem) => {
  expect(jsonTextProblem(text, bounds)).toBe(problem)
})
