/** A copy of the sources from which one guard was taken, beside the packages they need; it is gone when it is disposed of. */
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Change {
  /** File of the repository. */
  readonly file: string
  /** Text of the file, which must be there once. */
  readonly from: string
  readonly to: string
}

export class SourceCopy implements AsyncDisposable {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(changes: readonly Change[]): Promise<SourceCopy> {
    const copy = new SourceCopy(await realpath(await mkdtemp(join(tmpdir(), 'troupe-mutant-'))))
    const folder = copy.#folder
    await mkdir(join(folder, 'test'))
    for (const part of ['src', 'test/support', 'test/mutants', 'package.json'])
      await cp(join(root, part), join(folder, part), { recursive: true })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
    for (const { file, from, to } of changes) {
      const pieces = (await readFile(join(folder, file), 'utf8')).split(from)
      if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${from}`)
      await writeFile(join(folder, file), pieces.join(to))
    }
    return copy
  }

  /** A module of the copy, with all that it imports. */
  import(file: string): Promise<Record<string, unknown>> {
    return import(/* @vite-ignore */ pathToFileURL(join(this.#folder, file)).href) as Promise<Record<string, unknown>>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}
