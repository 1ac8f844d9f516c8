/**
 * Duty: remove each guard from the scripts and from the agent runtime, one at a time, and report which test noticed: `npm run mutants`.
 * `--only text`: only mutants whose name contains the text. `--json`: prints one object for each mutant, then the totals. The exit code is 1 if
 * no test noticed a removal.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './dependencies.mjs'

const files = ['test/store/mutants.test.ts', 'test/mutants/agent-mutants.test.ts']
const title = /^without its guard a test goes red: (.+) \[(\w+)\]$/

const usage = `Usage: npm run mutants -- [--json] [--only <text>]

Removes each guard from the scripts and from the agent runtime, one at a time, and reports which test noticed.
Exit codes: 0 all caught, 1 one escaped, 2 wrong usage.
`
const values = readFlags()
const folder = mkdtempSync(join(tmpdir(), 'troupe-mutants-'))
const report = join(folder, 'report.json')
try {
  const { output, code } = await runTests()
  process.exitCode = print(output, code)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function readFlags() {
  try {
    const options = { json: { type: 'boolean' }, only: { type: 'string' }, help: { type: 'boolean', short: 'h' } }
    const { values } = parseArgs({ options })
    if (!values.help) return values
    process.stdout.write(usage)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${error.message}\n${usage}`)
    process.exit(2)
  }
}

function runTests() {
  const only = values.only === undefined ? '' : `.*${values.only.replace(/[^\w\s-]/g, '.')}`
  const args = ['run', ...files, '-t', `goes red: ${only}`, '--reporter=json', `--outputFile=${report}`]
  return new Promise((resolve, reject) => {
    const child = spawn('vitest', args, { cwd: root, stdio: 'pipe', shell: process.platform === 'win32' })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ output, code }))
  })
}

function print(output, code) {
  const mutants = readMutants()
  const escaped = mutants.filter(({ caught }) => !caught)
  if (values.json) for (const mutant of mutants) console.log(JSON.stringify(mutant))
  else for (const { name, caught, by } of mutants) console.log(`${caught ? 'caught ' : 'ESCAPED'}  ${name}  (${by})`)
  if (mutants.length === 0) {
    console.error(
      values.only === undefined ? output : `There is no mutant whose name contains "${String(values.only)}".`,
    )
    return 1
  }
  for (const { name, why } of escaped) console.error(`\n${name}:\n${why}`)
  const totals = { mutants: mutants.length, caught: mutants.length - escaped.length, escaped: escaped.length }
  console.log(
    values.json
      ? JSON.stringify(totals)
      : `\n${totals.mutants} mutants: ${totals.caught} caught, ${totals.escaped} escaped`,
  )
  // Something else failed: for example, a server did not start or a file could not be loaded.
  if (escaped.length === 0 && code !== 0) console.error(output)
  return escaped.length === 0 && code === 0 ? 0 : 1
}

function readMutants() {
  let results
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults
  } catch {
    return []
  }
  return results
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ title: text, status, failureMessages }) => {
      const [, name, by] = title.exec(text) ?? []
      if (name === undefined || (status !== 'passed' && status !== 'failed')) return []
      const caught = status === 'passed'
      return [{ name, caught, by, ...(caught ? {} : { why: failureMessages.join('\n').split('\n    at ')[0] }) }]
    })
}
