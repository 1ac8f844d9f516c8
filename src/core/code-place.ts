/**
 * Duty: find the place in the code of users at which an error was thrown, for whoever has to mend that code.
 * Owns: which lines of a stack count, and how a file is named.
 * PLACE-1 A place lies neither in troupe, nor in Node, nor in `node_modules`. An error whose stacks name no such place has none.
 * PLACE-2 Nothing here throws, whatever was thrown. Accessors of an error may throw, and its stack may be of any type.
 * PLACE-3 A file below the folder of the process is named relative to it, so that a terminal can open it; else relative to the folder of the
 *         workers. Only a file below neither has its whole path.
 */
import { isCarrier } from './errors.ts'

/** The root of the code of this package: `src`, or `dist`. */
const ours = pathOf(new URL('..', import.meta.url).href)

/** Folders that files are named from; the first that holds the file counts. */
let folders: readonly string[] = []

/** The folder of the process, then those of its workers. Folders that are known already stay known. */
export function namePlacesFrom(more: readonly string[]): void {
  // Each file lies below the root: its name would not become shorter.
  const withSlash = more.map((folder) => folder.replaceAll('\\', '/').replace(/\/*$/, '/')).filter((one) => one !== '/')
  folders = [...new Set([...folders, ...withSlash])]
}

/** Longer places are cut: a failure travels with results, events and reports. */
const placeCharsMax = 300
/** How many causes of causes are followed. */
const causesMax = 4
/** How many characters of a stack are logged. Its message may have megabytes. */
export const stackCharsMax = 8_000

/** `workers/reader.ts:12:7`: where code of users threw this, or else its cause; undefined if no stack names a place of theirs. */
export function codePlaceOf(thrown: unknown): string | undefined {
  let error = thrown
  for (let depth = 0; depth < causesMax && error != null; depth++) {
    const place = isCarrier(error) ? undefined : placeInStack(stackOf(error) ?? '', messageOf(error))
    if (place !== undefined) return place
    error = readField(error, 'cause')
  }
  return undefined
}

/** The stack as text; undefined for a value that has none. */
export function stackOf(thrown: unknown): string | undefined {
  const stack = readField(thrown, 'stack')
  return typeof stack === 'string' ? stack : undefined
}

/** What a log line says of an error that code of users threw. Empty if only troupe is in its stacks. */
export function thrownFields(thrown: unknown): { readonly stack?: string } {
  const stacks: string[] = []
  let error = thrown
  for (let depth = 0; depth < causesMax && error != null; depth++) {
    const stack = stackOf(error)
    if (stack !== undefined && (depth === 0 || isOfUser(stack))) stacks.push(stack.slice(0, stackCharsMax))
    error = readField(error, 'cause')
  }
  return stacks.some(isOfUser) ? { stack: stacks.join('\ncaused by: ') } : {}
}

function isOfUser(stack: string): boolean {
  return placeInStack(stack) !== undefined
}

/** The first place of a stack in code of users. `message`: the error's, which the stack repeats and which may look like a place. */
export function placeInStack(stack: string, message = ''): string | undefined {
  const end = message === '' ? -1 : stack.indexOf(message)
  const lines = (end < 0 ? stack : stack.slice(end + message.length)).split('\n', 200)
  for (const line of lines) {
    const [, where, position] = frame.exec(line) ?? []
    if (where === undefined) continue
    const file = pathOf(where)
    if (isOfUsers(file)) return `${nameOf(file)}${position}`.slice(0, placeCharsMax)
  }
  return undefined
}

/** `    at async Object.run (file:///home/me/reader.ts:12:7)`, with or without the name of a function. */
const frame = /^\s*at (?:.*? \()?(?:async )?(\S.*?)(:\d+:\d+)\)?$/

function isOfUsers(file: string): boolean {
  if (/^[a-z][\w+.-]+:/i.test(file) || file.includes('<') || !/[/\\]/.test(file)) return false
  return !file.startsWith(ours) && !/[/\\]node_modules[/\\]/.test(file)
}

function nameOf(file: string): string {
  const path = file.replaceAll('\\', '/')
  const folder = folders.find((one) => path.startsWith(one))
  return folder === undefined ? path : path.slice(folder.length)
}

/** The path of a file that a stack names by its URL or its path. */
function pathOf(where: string): string {
  if (!where.startsWith('file:')) return where
  try {
    // Nothing behind ? or # is of the file: a loader adds it so that a changed file is read anew.
    const { pathname } = new URL(where)
    return decodeURIComponent(pathname).replace(/^\/(?=[A-Za-z]:\/)/, '')
  } catch {
    return where
  }
}

function messageOf(error: unknown): string {
  const message = readField(error, 'message')
  return typeof message === 'string' ? message : ''
}

/** Reads a field without throwing (PLACE-2). */
function readField(value: unknown, name: 'stack' | 'cause' | 'message'): unknown {
  try {
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}
