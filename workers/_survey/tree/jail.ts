/**
 * Duty: open files and folders that a model names, within the folder that its worker may touch.
 * JAIL-1 The workspace checks that the real path lies inside that folder. From the folder on, the path is opened name by name without following
 *        links, so that nothing outside is opened, even if a folder is replaced by a link in between.
 */
import { relative, sep } from 'node:path'
import { InputError, type ToolContext } from 'troupe'
import { atTop } from './at-top.ts'
import { FolderChain } from './chain.ts'
import type { OpenFolder } from './folder.ts'
import { type BytePath, encodePath, fromText, showPath } from './path.ts'
import { reasonOf } from './reason.ts'

type Jailed = Pick<ToolContext, 'workspace'>

/** Opens a folder for the work. Throws an InputError that repeats the path as the model wrote it. */
export async function inFolder<Value>(
  path: string,
  jailed: Jailed,
  work: (folder: OpenFolder) => Value,
): Promise<Value> {
  return reach(path, await inside(path, jailed), work)
}

/** Opens a file for the work, which gets its descriptor. What is opened may turn out not to be a file. */
export async function inFile<Value>(path: string, jailed: Jailed, work: (folder: OpenFolder, name: BytePath) => Value) {
  const { root, names } = await inside(path, jailed)
  const name = names.at(-1)
  if (name === undefined) throw new InputError(`${preview(path)} is a folder: list it with list_folder.`)
  return reach(path, { root, names: names.slice(0, -1) }, (folder) => work(folder, fromText(name)))
}

interface Inside {
  readonly root: string
  readonly names: readonly string[]
}

async function inside(path: string, { workspace }: Jailed): Promise<Inside> {
  if (workspace === null) throw new InputError('This worker has no folder whose files it could look at.')
  const below = relative(workspace.root, await workspace.resolve(path))
  return { root: workspace.root, names: below === '' ? [] : below.split(sep) }
}

function reach<Value>(path: string, { root, names }: Inside, work: (folder: OpenFolder) => Value): Value {
  const answer = atTop(encodePath(fromText(root)), (top) => {
    const chain = new FolderChain(top)
    try {
      return work(chain.reach(fromText(names.join('/'))))
    } catch (error) {
      if (error instanceof InputError) throw error
      throw new InputError(`${preview(path)} cannot be opened: ${reasonOf(error)}.`, { cause: error })
    } finally {
      chain.close()
    }
  })
  if (answer.kind === 'found') return answer.value
  throw new InputError(`${preview(path)} cannot be opened: ${answer.reason}.`)
}

export function preview(path: string): string {
  return showPath(fromText(path)) || '.'
}
