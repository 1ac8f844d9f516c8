/** A module of the tests with all that it imports, as one file in which some texts of the sources are changed; it is gone when it is disposed of. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inject } from 'vitest'
import { bundle } from '../../scripts/bundle.ts'

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
  readonly #module: string

  private constructor(folder: string, module: string) {
    this.#folder = folder
    this.#module = module
  }

  /** `file`: of the repository. */
  static async make(file: string, changes: readonly Change[]): Promise<SourceCopy> {
    // In this folder the file finds the packages that it needs.
    const folder = await mkdtemp(join(inject('folder'), 'programs', 'changed-'))
    const made = new Set<Change>()
    const transform = (code: string, id: string) => {
      const here = changes.filter((change) => change.file === relative(root, id).replaceAll('\\', '/'))
      for (const change of here) made.add(change)
      return here.length === 0 ? null : { code: here.reduce(changed, code) }
    }
    const built = await bundle({ folder, entries: [file], plugins: [{ name: 'changes', transform }] })
    const missing = changes.filter((change) => !made.has(change))
    if (missing[0]) throw new Error(`${file} does not need ${missing[0].file}`)
    return new SourceCopy(folder, [...built.values()][0] as string)
  }

  import(): Promise<Record<string, unknown>> {
    return import(/* @vite-ignore */ pathToFileURL(this.#module).href) as Promise<Record<string, unknown>>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function changed(code: string, { file, from, to }: Change): string {
  const pieces = code.split(from)
  if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${from}`)
  return pieces.join(to)
}
