/** The rooms of src/cli: `view` turns data into text, and leaves streams, Redis and commands to the other rooms. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSources } from '../architecture/source-graph.ts'

const sources = await readSources(fileURLToPath(new URL('../..', import.meta.url)), ['src'])

const nothing = /^$/
/** For each room, the files of src/cli outside of it that it may import. */
const mayImport: Readonly<Record<string, RegExp>> = {
  'src/cli/view/': nothing,
  'src/cli/terminal/': /^src\/cli\/(view\/.*|exit-code\.ts)$/,
  'src/cli/host/': /^src\/cli\/(terminal|view)\/|^src\/cli\/(exit-code|options)\.ts$/,
}

test.each(Object.entries(mayImport))('%s imports only the rooms below it', (room, allowed) => {
  const files = sources.filter(({ path }) => path.startsWith(room))
  expect(files.length).toBeGreaterThan(0)
  const strange = files.flatMap(({ path, imports }) =>
    imports.flatMap(({ file }) =>
      file?.startsWith('src/cli/') && !file.startsWith(room) && !allowed.test(file) ? [`${path} imports ${file}`] : [],
    ),
  )
  expect(strange).toEqual([])
})

test('words and view read no stream and no environment, and set no timer', () => {
  const impure = /\bprocess\.(stdout|stderr|stdin|env)\b|\bset(Timeout|Interval|Immediate)\(/
  const strange = sources.filter(({ path, text }) => /^src\/(words|cli\/view)\//.test(path) && impure.test(text))
  expect(strange.map(({ path }) => path)).toEqual([])
})
