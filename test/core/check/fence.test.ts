/** Fences that models put around JSON. */
import { expect, test } from 'vitest'
import { onlyFenceIn, withoutFence, withoutInlineFence } from '../../../src/core/check/fence.ts'

const json = '{"a":1}'

test.each([
  ['no fence', json],
  ['a word', `\`\`\`json\n${json}\n\`\`\``],
  ['no word', `\`\`\`\n${json}\n\`\`\``],
  ['another word', `\`\`\`yaml title="x"\n${json}\n\`\`\``],
  ['more marks', `\`\`\`\`js\n${json}\n\`\`\`\``],
  ['tildes', `~~~\n${json}\n~~~`],
  ['blanks and empty lines around it', `\n\n  \`\`\`JSON  \n${json}\n\`\`\`  \n\n`],
  ['line breaks of Windows', `\`\`\`json\r\n${json}\r\n\`\`\`\r\n`],
])('a text with %s around it is read without it [0.11]', (_, text) => {
  expect(withoutFence(text).trim()).toBe(json)
})

test.each(['json', 'json ', ''])('a fence on one line, behind %j, is read by itself', (word) => {
  const text = `\`\`\`${word}${json}\`\`\``
  expect(withoutInlineFence(text).trim()).toBe(json)
  expect(withoutFence(text)).toBe(text)
})

test.each([
  ['has words around the fence', `See:\n\`\`\`\n${json}\n\`\`\``],
  ['has no end', `\`\`\`json\n${json}`],
  ['has two fences', '```\n1\n```\n```\n2\n```'],
  ['ends with fewer marks', `\`\`\`\`\n${json}\n\`\`\``],
])('a text that %s stays as it is', (_, text) => {
  expect(withoutFence(text)).toBe(text)
})

test('the only fence within a text is found, and none if there are several', () => {
  expect(onlyFenceIn(`Here it is:\n\`\`\`json\n${json}\n\`\`\`\nDone.`)).toBe(json)
  expect(onlyFenceIn('```\n1\n```\nor\n```\n2\n```')).toBe(null)
  expect(onlyFenceIn('no fence')).toBe(null)
})

test.each(['```a\n', '   ~~~\n', '```a\n~~~\n'])('a text of endless beginnings such as %j is read at once', (line) => {
  expect(onlyFenceIn(line.repeat(100_000))).toBe(null)
})

test('a fence is found behind a beginning that has no end', () => {
  expect(onlyFenceIn(`\`\`\`\`\n~~~~\n\`\`\`\n${json}\n\`\`\``)).toBe(json)
})

test('a text of many line breaks is read at once', () => {
  const text = `\`\`\`${'\n'.repeat(200_000)}\`\`\`x`
  expect(withoutFence(text)).toBe(text)
})
