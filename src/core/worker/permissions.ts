/**
 * Duty: the permissions of a worker: the tools that it may use, the kinds that it may spawn, and its folder. They only restrict what its kind
 * defines.
 * PERMISSIONS-1 A child has no wider permissions than its parent. The commit that spawns the child checks that again (I13).
 * PERMISSIONS-2 An absent list restricts nothing.
 * PERMISSIONS-3 Names and folders are plain text, so that a script can compare them. A folder is stored without `.`, `..` and doubled separators.
 */

import { preview } from '../check/preview.ts'
import { InputError } from '../errors.ts'
import { policy } from '../policy.ts'

export interface Permissions {
  /** Names of the tools that it may use. */
  readonly tools?: readonly string[] | undefined
  /** Kinds it may spawn. */
  readonly kinds?: readonly string[] | undefined
  /** An absolute path. File tools stay within it. */
  readonly folder?: string | undefined
}

/** One line for each restriction: `tools a b`, `kinds c`, `folder /d`. Empty for none. */
export function encodePermissions({ tools, kinds, folder }: Permissions): string {
  const lines: string[] = []
  if (tools) lines.push(['tools', ...tools].join(' '))
  if (kinds) lines.push(['kinds', ...kinds].join(' '))
  if (folder !== undefined) lines.push(`folder ${folder}`)
  return lines.join('\n')
}

export function decodePermissions(text: string): Permissions {
  const permissions: { tools?: string[]; kinds?: string[]; folder?: string } = {}
  for (const line of text.split('\n')) {
    const [what, ...words] = line.split(' ')
    if (what === 'tools') permissions.tools = words
    else if (what === 'kinds') permissions.kinds = words
    else if (what === 'folder') permissions.folder = words.join(' ')
  }
  return permissions
}

/** The form of a name in permissions. */
export const permissionName = /^[A-Za-z0-9_/-]{1,64}$/

/** Returns the permissions, with their folder in its plain form. Throws an InputError if no record can hold them. */
export function checkPermissions(permissions: Permissions): Permissions {
  checkForm(permissions)
  const { folder } = permissions
  if (folder === undefined) return permissions
  const plain = plainFolder(folder)
  return plain === folder ? permissions : { ...permissions, folder: plain }
}

/** The folder without `.`, `..`, doubled separators, and a separator at its end. It is an absolute path. */
function plainFolder(folder: string): string {
  const drive = /^[A-Za-z]:/.exec(folder)?.[0] ?? ''
  const separator = drive === '' ? '/' : '\\'
  const parts: string[] = []
  for (const part of folder.slice(drive.length).split(drive === '' ? '/' : /[\\/]/)) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `${drive}${separator}${parts.join(separator)}`
}

function checkForm(permissions: Permissions): void {
  const unknown = Object.keys(permissions).find((what) => what !== 'tools' && what !== 'kinds' && what !== 'folder')
  // A misspelt restriction would restrict nothing.
  if (unknown !== undefined)
    throw new InputError(`permissions.${unknown.slice(0, 80)} is no restriction; there are tools, kinds, folder.`)
  for (const [what, names] of [
    ['tools', permissions.tools],
    ['kinds', permissions.kinds],
  ] as const) {
    if (
      names !== undefined &&
      !(Array.isArray(names) && names.every((name) => typeof name === 'string' && permissionName.test(name)))
    ) {
      throw new InputError(`permissions.${what} is a list of names, not ${preview(names)}.`)
    }
    if (names !== undefined && names.length > policy.permissionNamesMax) {
      throw new InputError(`permissions.${what} has ${names.length} names; the limit is ${policy.permissionNamesMax}.`)
    }
  }
  const { folder } = permissions
  if (
    folder !== undefined &&
    (typeof folder !== 'string' ||
      !/^(\/|[A-Za-z]:[\\/])/.test(folder) ||
      /\p{Cc}/u.test(folder) ||
      Buffer.byteLength(folder) > policy.folderBytesMax)
  ) {
    throw new InputError(
      `permissions.folder is an absolute path of at most ${policy.folderBytesMax} bytes without control characters, not ${preview(folder)}.`,
    )
  }
}

/** True if `encodePermissions` writes this text. Any other text might restrict less than its author meant. */
export function isPermissionsText(text: string): boolean {
  try {
    const permissions = decodePermissions(text)
    checkForm(permissions)
    return text !== '' && encodePermissions(permissions) === text
  } catch {
    return false
  }
}

/** True if the path is the outer one or below it, by its text alone. store/lua/shared/children.lua does the same. */
export function isWithinFolder(path: string, outer: string): boolean {
  const slashed = (text: string) => (/^[A-Za-z]:/.test(outer) ? text.replaceAll('\\', '/') : text)
  const base = `${withoutLastSlashes(slashed(outer))}/`
  const whole = `${slashed(path)}/`
  return whole.startsWith(base) && !whole.slice(base.length - 1).includes('/../')
}

/** Not by a pattern, which would begin anew at each of many slashes. */
function withoutLastSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** The permissions that a worker may pass on to a child: its own, narrowed further. */
export function narrowPermissions(permissions: Permissions, more: Permissions): Permissions {
  return {
    tools: narrow(permissions.tools, more.tools),
    kinds: narrow(permissions.kinds, more.kinds),
    folder: more.folder ?? permissions.folder,
  }
}

function narrow(
  names: readonly string[] | undefined,
  more: readonly string[] | undefined,
): readonly string[] | undefined {
  if (names === undefined || more === undefined) return names ?? more
  return more.filter((name) => names.includes(name))
}
