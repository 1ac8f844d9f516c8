/**
 * Duty: let a person change the arguments of a tool call in their editor, as JSON.
 * EDIT-1 What is returned fits the tool. A person who wrote something else is told what is wrong, and the editor opens again with what they wrote.
 * EDIT-2 Only the person can read the file. It is removed, whatever happens.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Approval } from '../../client/person/approvals.ts'
import { readEditor } from '../../config.ts'
import { InputError } from '../../core/errors.ts'
import { parseExactJson } from '../../core/exact-json.ts'
import { safe, tell } from './output.ts'

/** The arguments as the person left them. Throws an InputError if they left them wrong twice. */
export async function editArguments({ arguments: args, schema }: Approval): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-'))
  const file = join(folder, 'arguments.json')
  try {
    await writeFile(file, `${JSON.stringify(args, null, 2)}\n`, { mode: 0o600 })
    for (let wrong: string | undefined; ; ) {
      await runEditor(file)
      const text = await readFile(file, 'utf8')
      const read = await readArguments(text, schema)
      if (read.problem === null) return read.value
      if (text === wrong) throw new InputError(`the arguments were not used: ${read.problem}.`)
      wrong = text
      tell(`troupe: ${safe(read.problem)}; the editor opens again`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface ReadArguments {
  readonly value: unknown
  readonly problem: string | null
}

async function readArguments(text: string, schema: Approval['schema']): Promise<ReadArguments> {
  let value: unknown
  try {
    value = parseExactJson(text)
  } catch (thrown) {
    return { value: null, problem: `this is no JSON (${(thrown as Error).message})` }
  }
  // Checks by schemas, which commands that edit nothing need not load.
  const { answerProblem } = await import('../../core/worker/ask/answer-problem.ts')
  const problem = schema === null ? null : answerProblem({ schema }, { decision: 'approve', arguments: value })
  return { value, problem: problem === null ? null : `what you wrote ${problem}` }
}

async function runEditor(file: string): Promise<void> {
  const editor = readEditor()
  const [program = 'vi', ...words] = editor.split(/\s+/)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(program, [...words, file], { stdio: 'inherit' })
  child.once('error', (error) =>
    reject(new InputError(`the editor ${editor} cannot be started (${error.message}): set EDITOR.`)),
  )
  child.once('exit', (code) =>
    code === 0 ? resolve() : reject(new InputError(`the editor ${editor} ended with an error: nothing was decided.`)),
  )
  await promise
}
