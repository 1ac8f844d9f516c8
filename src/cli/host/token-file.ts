/**
 * Duty: the file of access tokens, which `troupe token` changes and `troupe serve` reads.
 * TOKEN-FILE-1 The file holds no token, only what recognises one, and is for its owner alone. It is replaced as a whole, so that a server never reads
 *              a part of it.
 * TOKEN-FILE-2 Of several commands that change it at the same time, each builds on what the others wrote.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { TokenEntry } from '../../api/guard/tokens.ts'
import { ConfigError } from '../../core/errors.ts'

/** Null if there is no such file. Throws a ConfigError if it cannot be read, or holds something else. */
export async function readTokenFile(file: string): Promise<TokenEntry[] | null> {
  const { readEntries } = await import('../../api/guard/tokens.ts')
  try {
    return readEntries(readFileSync(file, 'utf8'), file)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null
    if (thrown instanceof ConfigError) throw thrown
    throw new ConfigError(`the token file ${file} cannot be read (${codeOf(thrown)}): name a file that you may read.`, {
      cause: thrown,
    })
  }
}

/** How long other commands may change the file before this one gives up. */
const lockMsMax = 10_000
const lockEveryMs = 20

/** `change` gets the entries that the file has now, none if there is no file, and returns those that it is to have. */
export async function changeTokenFile(
  file: string,
  change: (entries: readonly TokenEntry[]) => readonly TokenEntry[],
): Promise<void> {
  const release = await lock(file)
  try {
    replaceTokenFile(file, change((await readTokenFile(file)) ?? []))
  } finally {
    await release()
  }
}

async function lock(file: string): Promise<() => Promise<void>> {
  const { takeLock } = await import('../../dev/start-lock.ts')
  const deadline = performance.now() + lockMsMax
  for (;;) {
    const release = await takeLock(`${file}.lock`).catch((cause: unknown) => {
      throw unwritable(file, cause)
    })
    if (release) return release
    if (performance.now() > deadline)
      throw new ConfigError(
        `another command changes the token file ${file} for too long: try again, or remove ${file}.lock.`,
      )
    await pause(lockEveryMs)
  }
}

function replaceTokenFile(file: string, entries: readonly TokenEntry[]): void {
  const fresh = `${file}.${process.pid}`
  try {
    writeFileSync(fresh, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 })
    renameSync(fresh, file)
  } catch (cause) {
    throw unwritable(file, cause)
  }
}

function unwritable(file: string, cause: unknown): ConfigError {
  return new ConfigError(
    `the token file ${file} cannot be written (${codeOf(cause)}), and is as it was: name a file in a folder where you may write, with --file.`,
    { cause },
  )
}

function codeOf(thrown: unknown): string {
  return String((thrown as NodeJS.ErrnoException | undefined)?.code)
}
