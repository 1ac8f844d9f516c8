/** Programs of the system: found on the search path the caller gives (nothing here reads the environment), run, seen alive. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'

/** The absolute path of the first of the named programs that is on the search path. */
export async function findProgram(names: readonly string[], path: string): Promise<string | undefined> {
  const { value } = await findPrograms(names, path).next()
  return value ?? undefined
}

/** The absolute paths of all of them: first those of the first name, in the order of the search path. */
export async function* findPrograms(names: readonly string[], path: string): AsyncGenerator<string, void> {
  for (const name of names) {
    for (const folder of path.split(delimiter).filter(Boolean)) {
      const file = resolve(folder, name)
      const isExecutable = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (isExecutable) yield file
    }
  }
}

export interface ProgramResult {
  readonly ok: boolean
  /** stdout, and stderr behind it. */
  readonly output: string
}

/** Runs a program to its end. That it fails, is missing or takes too long is a result. */
export function runProgram(file: string, args: readonly string[], msMax: number): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(
      file,
      args,
      { timeout: msMax, killSignal: 'SIGKILL', encoding: 'utf8', maxBuffer: 16 << 20 },
      (error, stdout, stderr) => {
        resolve({ ok: error === null, output: `${stdout}${stderr}`.trim() || (error?.message ?? '').trim() })
      },
    )
  })
}

/** True while a process of this id runs, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * What tells a process from a later one of the same id: when it began, counted from the start of the machine, which no clock that is set
 * changes. Undefined where the system does not say so; 'ended' for one of which no more is left than that its parent did not ask how.
 */
export async function beginningOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // Behind the name, which may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? 'ended' : fields[19]
}
