/**
 * Duty: what a worker may use, beyond what its kind defines: which tools, which kinds to spawn, which folder. A child's permissions is
 * within its parent's; the commit that spawns it checks that again (I13).
 * An absent list restricts nothing. Names and a folder are plain words, so that a script can compare them.
 */

import { preview } from '../check/preview.ts'
import { InputError } from '../errors.ts'
import { policy } from '../policy.ts'

export interface Permissions {
  /** Names of tools. */
  readonly tools?: readonly string[] | undefined
  /** Kinds it may spawn. */
  readonly kinds?: readonly string[] | undefined
  /** Absolute path: file tools stay within it. */
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

/** Names that permissions can hold. */
export const permissionName = /^[A-Za-z0-9_/-]{1,64}$/

/** Throws an InputError for what no record can hold. */
export function checkPermissions(permissions: Permissions): Permissions {
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
  return permissions
}

/** Is this what `encodePermissions` writes, of permissions that a record can hold? Else what is read of it may restrict less than was meant. */
export function isPermissionsText(text: string): boolean {
  try {
    return text !== '' && encodePermissions(checkPermissions(decodePermissions(text))) === text
  } catch {
    return false
  }
}

/** Is this path the outer one or below it, by its text alone? The same as in store/lua/shared/children.lua. */
export function isWithinFolder(path: string, outer: string): boolean {
  const slashed = (text: string) => (/^[A-Za-z]:/.test(outer) ? text.replaceAll('\\', '/') : text)
  const base = `${slashed(outer).replace(/\/+$/, '')}/`
  const whole = `${slashed(path)}/`
  return whole.startsWith(base) && !whole.slice(base.length - 1).includes('/../')
}

/** What a worker with this permissions may give: its own restrictions, narrowed further. */
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
