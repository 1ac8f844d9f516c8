/**
 * Duty: the file of access tokens, which `troupe token` changes and `troupe serve` reads.
 * TOKEN-FILE-1 The file holds no token, only what recognises one, and is for its owner alone. It is replaced as a whole, so that a server never reads
 *              a part of it.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
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

export function replaceTokenFile(file: string, entries: readonly TokenEntry[]): void {
  const fresh = `${file}.${process.pid}`
  try {
    writeFileSync(fresh, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600 })
    renameSync(fresh, file)
  } catch (cause) {
    throw new ConfigError(
      `the token file ${file} cannot be written (${codeOf(cause)}), and is as it was: name a file in a folder where you may write, with --file.`,
      { cause },
    )
  }
}

function codeOf(thrown: unknown): string {
  return String((thrown as NodeJS.ErrnoException | undefined)?.code)
}
