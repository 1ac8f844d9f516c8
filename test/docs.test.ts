/** The pages of docs/ say what the sources say. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { figures } from '../bench/figures.ts'
import { docsProblems } from '../scripts/docs.ts'
import { httpCodes, statusOf } from '../src/api/problem.ts'
import { rootScriptFields, sessionFields } from '../src/store/record/session-record.ts'
import { scriptFields, workerFields } from '../src/store/record/worker-record.ts'

function page(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
}

/** The names in code quotes in the first column of the tables below a line that begins so. */
function namesBelow(text: string, begin: string): string[] {
  const section = text.slice(text.indexOf(begin)).split(/\n## /)[0] ?? ''
  return [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([@\w/-]+)`/g)].map(([, name = '']) => name),
  )
}

describe('the documentation', () => {
  test('the documentation agrees with the sources', async () => {
    expect(await docsProblems()).toEqual([])
  })

  test('the documentation names every field of a record, and no other', () => {
    const text = page('docs/reference/redis-keys.md')
    const ofWorkers = Object.values(workerFields).map(({ name }) => name)
    const ofSessions = Object.values(sessionFields).map(({ name }) => name)
    const documented = [...namesBelow(text, 'Fields of a record'), ...namesBelow(text, 'The record of the root also')]
    const stored = [...ofWorkers, ...scriptFields, 'path1', 'path2', ...ofSessions, ...rootScriptFields]
    expect(new Set(documented)).toEqual(new Set(stored))
  })

  test('the documentation names in the README what a submitted job takes', () => {
    const [, forms = ''] = /^const forms =\n {2}'(.+)'$/m.exec(page('src/client/session/submitted-job.ts')) ?? []
    const readme = page('README.md').replaceAll(/\s+/g, ' ')
    const [session, message, answer] = forms
      .replaceAll('"', '')
      .matchAll(/\{(.+?)\}/g)
      .map(([, names]) => names)
    for (const names of [session, message, answer]) expect(readme).toContain(`\`{ ${names} }\``)
  })

  test('the documentation names in the README each package that troupe needs, and no other', () => {
    const { dependencies } = JSON.parse(page('package.json')) as { dependencies: Record<string, string> }
    expect(namesBelow(page('README.md'), '## Dependencies').sort()).toEqual(Object.keys(dependencies).sort())
  })

  test('the documentation names each code of an answer of the API beside its status', () => {
    const [, section = ''] = page('docs/api.md').split('### What an answer that is no success says')
    const rows = [...section.matchAll(/^\| (\d{3})[^|]*\| ([^|]*)\| ([^|]*)\|$/gm)]
    const codes = (cell = '') => [...cell.matchAll(/`(\w+_\w+)`/g)].map(([, code]) => code)
    expect(new Set(rows.flatMap(([, , ofHttp]) => codes(ofHttp)))).toEqual(new Set(httpCodes))
    const shown = Object.fromEntries(
      rows.flatMap(([, status, , own]) => codes(own).map((code) => [code, Number(status)])),
    )
    expect(shown).toEqual(statusOf)
  })

  test('the documentation names in JSON each type of line that a command prints', () => {
    const json = page('docs/reference/json.md')
    const folder = new URL('../src/cli/commands/', import.meta.url)
    const sources = globSync('**/*.ts', { cwd: fileURLToPath(folder), exclude: ['dev/**', 'new/**'] })
    const printed = sources.flatMap((file) => [
      ...readFileSync(new URL(file, folder), 'utf8').matchAll(/\{ type: '([\w.]+)'/g),
    ])
    expect(printed.length).toBeGreaterThan(20)
    expect(printed.map(([, type]) => type).filter((type) => !new RegExp(`\\b${type}\\b`).test(json))).toEqual([])
  })

  test('the documentation shows the targets that the bench checks', () => {
    const rows = [...page('bench/README.md').matchAll(/^\| (P\d\w?) \| ([^|]+) \| ([≥≤]) ([\d. ]+) \|$/gm)]
    const shown = rows.map(([, id, what, sign, target = '']) => [id, what, sign, Number(target.replace(' ', ''))])
    const checked = figures.map(({ id, what, better, target }) => [id, what, better === 'higher' ? '≥' : '≤', target])
    expect(shown).toEqual(checked)
  })
})
