/**
 * Rows whose trials are tests of `npm test`, run by their names: what providers, models, tools and handlers do wrong is tried there in
 * this process, with no node to kill. A trial is a test.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Row } from '../row.ts'

interface NamedRow {
  readonly id: string
  readonly promise: string
  readonly tests: readonly (readonly [file: string, names: readonly string[]])[]
}

const provider = 'test/fault/agent/agent-provider.test.ts'

const namedTests: readonly NamedRow[] = [
  {
    id: 'F25',
    promise: 'a tool or a model that never answers is given up after its time, and the signal is seen',
    tests: [[provider, ['a tool that hangs is abandoned at its time limit, whether it heeds its signal or not']]],
  },
  {
    id: 'F26',
    promise: 'a provider that is busy or broken is asked again later, without a slot; then the run fails',
    tests: [
      [
        provider,
        [
          'a busy provider is asked again after the time it named',
          'a provider that stays broken fails the run when the retries are used up',
          'a provider that refuses the key fails the run at once',
        ],
      ],
    ],
  },
  {
    id: 'F27',
    promise: 'what a provider sends that is no reply is a failure, or mended; nothing crashes',
    tests: [
      [
        provider,
        [
          'a provider that hangs up in the middle of a reply is asked again',
          'a provider that speaks garbage is asked again, then the run fails',
          'more than can be recorded, fails the run',
          'a reply whose text holds half characters and NULs reaches the agent',
        ],
      ],
    ],
  },
  {
    id: 'F28',
    promise: 'a model is told what was wrong with its calls; each call has one result',
    tests: [
      [
        provider,
        [
          'learns which arguments were no JSON, did not fit, or named no tool',
          'a model that uses an id again, in one reply and the next',
          'a model that calls 200 tools at once has all of them answered',
          'a model that writes arguments of 4 MB ends the run, or learns of the limit',
        ],
      ],
    ],
  },
  {
    id: 'F29',
    promise: 'a model that calls tools for ever is stopped',
    tests: [
      [provider, ['a model that calls tools without end is stopped, and the error names the count and the limit']],
    ],
  },
  {
    id: 'F31',
    promise: 'what a tool throws is told to the model, whatever it is; the node lives',
    tests: [[provider, ['a tool that throws any value ends as an error result for the model']]],
  },
]

export const namedTestRows: readonly Row[] = namedTests.map(({ id, promise, tests }) => ({
  id,
  promise,
  done: `the tests that are named in docs/faults.md, from ${tests.map(([file]) => file).join(' and ')}`,
  trials: () => tests.map(([file, names]) => ({ name: file, run: () => runTests(file, names) })),
}))

interface Told {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly assertionResults: readonly { fullName: string; failureMessages: string[] }[]
  }[]
}

/** Throws with the first failure; gives the number of tests that ran. */
async function runTests(file: string, names: readonly string[]): Promise<number> {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const folder = mkdtempSync(join(tmpdir(), 'troupe-named-tests-'))
  try {
    const report = join(folder, 'report.json')
    const args = [
      'node_modules/vitest/vitest.mjs',
      'run',
      file,
      '-t',
      pattern,
      '--reporter=json',
      `--outputFile=${report}`,
    ]
    const said = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, { cwd: root, maxBuffer: 100_000_000 }, (_error, out, err) => resolve(out + err))
    })
    if (!existsSync(report)) throw new Error(`vitest did not report on ${file}:\n${said.slice(-2_000)}`)
    return judge(JSON.parse(readFileSync(report, 'utf8')) as Told, file, names)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function judge(told: Told, file: string, names: readonly string[]): number {
  const failed = told.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ failureMessages }) => failureMessages.length > 0),
  )
  if (failed[0]) throw new Error(`${failed[0].fullName}: ${failed[0].failureMessages[0]}`)
  if (told.numPassedTests < names.length || told.numFailedTests > 0)
    throw new Error(
      `${told.numPassedTests} tests of ${file} passed, ${told.numFailedTests} failed; ${names.length} are named`,
    )
  return told.numPassedTests
}
