/** Duty: the tool with which a model lists a folder. */
import { defineTool } from 'troupe'
import { z } from 'zod'
import { plural } from '../report/markdown.ts'
import type { Listed, OpenFolder } from '../tree/folder.ts'
import { inFolder, preview } from '../tree/jail.ts'
import { type BytePath, comparePaths, showPath } from '../tree/path.ts'
import { reasonOf } from '../tree/reason.ts'

const shownMax = 200
/** Most entries that are listed. The rest is not even counted. */
const listedMax = 20_000

export const listFolder = defineTool({
  name: 'list_folder',
  description:
    'Lists the entries of a folder with name and size. The path is relative to your folder; without a path it lists your folder itself.',
  input: z.object({ path: z.string().default('.').describe('Path of the folder, such as "src/core".') }),
  effect: 'pure',
  thread: import.meta.url,
  run: ({ path }, context) => inFolder(path, context, (folder) => describeFolder(path, folder)),
})

function describeFolder(path: string, folder: OpenFolder): string {
  const listed: Listed[] = []
  for (const entry of folder.list()) {
    if (listed.length === listedMax) break
    listed.push(entry)
  }
  listed.sort((a, b) => comparePaths(a.name, b.name))
  const lines = listed.slice(0, shownMax).map((entry) => describeEntry(entry, folder))
  const count =
    listed.length === listedMax
      ? `at least ${plural(listedMax, 'entry', 'entries')}`
      : plural(listed.length, 'entry', 'entries')
  const cut = listed.length > shownMax ? `, of which these are the first ${shownMax} by name` : ''
  const head = listed.length === 0 ? `${preview(path)} is empty.` : `${preview(path)} holds ${count}${cut}:`
  return [head, ...lines].join('\n')
}

function describeEntry({ name, sort }: Listed, folder: OpenFolder): string {
  switch (sort) {
    case 'folder':
      return `${showPath(name)}/`
    case 'link':
      return `${showPath(name)} (a link)`
    case 'other':
      return `${showPath(name)} (neither file nor folder)`
    case 'file':
      return `${showPath(name)} ${sizeOf(name, folder)}`
  }
}

function sizeOf(name: BytePath, folder: OpenFolder): string {
  try {
    return `(${plural(folder.lstat(name).size, 'byte')})`
  } catch (error) {
    return `(${reasonOf(error)})`
  }
}
