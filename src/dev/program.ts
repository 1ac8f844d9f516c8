/** Duty: find programs of the system on the search path that the caller passes, run them, and check whether a process lives. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'

/** The absolute path of the first of these programs that is on the search path. */
export async function findProgram(names: readonly string[], path: string): Promise<string | undefined> {
  const { value } = await findPrograms(names, path).next()
  return value ?? undefined
}

/** The absolute paths of all matches: first those of the first name, in the order of the search path. */
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
  /** stdout, followed by stderr. */
  readonly output: string
}

/** Runs a program to its end. Does not throw: a program that fails, is missing or takes too long gives a result that is not `ok`. */
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

/** True while a process with this id runs, whichever user owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * When a process began, counted from the start of the machine, so that setting the clock changes nothing. It distinguishes a process from a
 * later one with the same id. Undefined if the system does not report it. 'ended' for a zombie, a process that has ended but whose parent has
 * not collected its exit code.
 */
export async function beginningOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // The fields follow the name of the program, which may hold any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? 'ended' : fields[19]
}
