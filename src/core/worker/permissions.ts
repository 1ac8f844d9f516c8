/**
 * Duty: the permissions of a worker: the tools that it may use, the kinds that it may spawn, its folder, and the workers that it may send to.
 * They only restrict what its kind defines.
 * PERMISSIONS-1 A child has no wider permissions than its parent. The commit that spawns the child checks that again (I13).
 * PERMISSIONS-2 An absent list restricts nothing.
 * PERMISSIONS-3 Names and folders are plain text, so that a script can compare them. A folder is stored without `.`, `..` and doubled separators.
 * PERMISSIONS-4 A run that began with a message of a worker has no wider permissions than that worker had when it sent the message.
 */

import { preview } from '../check/preview.ts'
import { ConfigError, InputError } from '../errors.ts'
import { isId } from '../ids.ts'
import { policy } from '../policy.ts'

export interface Permissions {
  /** Names of the tools that it may use. */
  readonly tools?: readonly string[] | undefined
  /** The kinds that it may spawn. */
  readonly kinds?: readonly string[] | undefined
  /** An absolute path. File tools stay within it. */
  readonly folder?: string | undefined
  /**
   * To whom it may send: to nobody, to its parent and its own children, to workers of its session, or to the workers with these ids. Absent: an
   * agent may send to workers of its session, a handler to all.
   */
  readonly send?: SendReach | readonly string[] | undefined
}

/** From the narrowest reach to the widest. */
const reaches = ['none', 'family', 'session'] as const
export type SendReach = (typeof reaches)[number]

/** The names of the restrictions, as errors and the command line list them. */
export const restrictions = ['tools', 'kinds', 'folder', 'send'] as const satisfies readonly (keyof Permissions)[]

/** One line for each restriction: `tools a b`, `kinds c`, `folder /d`, `send session`. Empty for none. */
export function encodePermissions({ tools, kinds, folder, send }: Permissions): string {
  const lines: string[] = []
  if (tools) lines.push(['tools', ...tools].join(' '))
  if (kinds) lines.push(['kinds', ...kinds].join(' '))
  if (folder !== undefined) lines.push(`folder ${folder}`)
  if (send !== undefined) lines.push(['send', ...(typeof send === 'string' ? [send] : idsOf(send))].join(' '))
  return lines.join('\n')
}

/** An empty list is written as a word, so that no line is empty. */
function idsOf(send: readonly string[]): readonly string[] {
  return send.length === 0 ? ['none'] : send
}

export function decodePermissions(text: string): Permissions {
  const permissions: { tools?: string[]; kinds?: string[]; folder?: string; send?: Permissions['send'] } = {}
  for (const line of text.split('\n')) {
    const [what, ...words] = line.split(' ')
    if (what === 'tools') permissions.tools = words
    else if (what === 'kinds') permissions.kinds = words
    else if (what === 'folder') permissions.folder = words.join(' ')
    else if (what === 'send') permissions.send = reaches.find((reach) => words.join(' ') === reach) ?? words
  }
  return permissions
}

/** How a record names permissions that its session keeps: by their digest. It is no text of permissions. */
export const keptPermissions = /^@([0-9a-f]{40})$/

/** The form of a name in permissions. */
export const permissionName = /^[A-Za-z0-9_/-]{1,64}$/

/** Returns the permissions, with their folder in its plain form. Throws an InputError if no record can hold them. */
export function checkPermissions(permissions: Permissions): Permissions {
  // Most sessions name none, and the rules take longer than all else that is checked of them.
  if (Object.keys(permissions).length === 0) return permissions
  checkForm(permissions)
  const { folder } = permissions
  if (folder === undefined) return permissions
  const plain = plainFolder(folder)
  if (isSystemFolder(plain))
    throw new InputError(
      `permissions.folder may not be ${preview(folder)}: no worker may use ${systemFolders.join(', ')}.`,
    )
  return plain === folder ? permissions : { ...permissions, folder: plain }
}

/** The permissions of a node. It knows no ids of workers beforehand. */
export function checkCeiling(permissions: Permissions): Permissions {
  if (Array.isArray(permissions.send))
    throw new ConfigError(`permissions.send of startNode is one of ${reaches.join(', ')}, not a list.`)
  try {
    return checkPermissions(permissions)
  } catch (thrown) {
    throw thrown instanceof InputError ? new ConfigError(`startNode: ${thrown.message}`, { cause: thrown }) : thrown
  }
}

const systemFolders = ['/proc', '/sys', '/dev']

/** True for folders whose files the kernel makes: they tell the secrets of processes, or have no end. The path is plain, or a real one. */
export function isSystemFolder(path: string): boolean {
  return systemFolders.some((folder) => path === folder || path.startsWith(`${folder}/`))
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
  const unknown = Object.keys(permissions).find((what) => !(restrictions as readonly string[]).includes(what))
  // A misspelt restriction would restrict nothing.
  if (unknown !== undefined)
    throw new InputError(`permissions.${unknown.slice(0, 80)} is no restriction; there are ${restrictions.join(', ')}.`)
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
  checkSend(permissions.send)
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

function checkSend(send: unknown): void {
  if (send === undefined || (reaches as readonly unknown[]).includes(send)) return
  if (!Array.isArray(send) || !send.every(isId))
    throw new InputError(
      `permissions.send is one of ${reaches.join(', ')}, or a list of ids of workers, not ${preview(send)}.`,
    )
  if (send.length > policy.permissionNamesMax)
    throw new InputError(`permissions.send has ${send.length} ids; the limit is ${policy.permissionNamesMax}.`)
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

/** True if the path is the outer one or below it, by its text alone. store/lua/shared/session/children.lua does the same. */
export function isWithinFolder(path: string, outer: string): boolean {
  const slashed = (text: string) => (/^[A-Za-z]:/.test(outer) ? text.replaceAll('\\', '/') : text)
  const base = `${withoutLastSlashes(slashed(outer))}/`
  const whole = `${slashed(path)}/`
  return whole.startsWith(base) && !whole.slice(base.length - 1).includes('/../')
}

/** A loop and no pattern, because a pattern would begin anew at each of many slashes. */
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
    send: narrowSend(permissions.send, more.send),
  }
}

/** What both permissions permit: those of a worker, and those of the sender whose message began its run (PERMISSIONS-4). */
export function commonPermissions(own: Permissions, other: Permissions | null): Permissions {
  if (other === null) return own
  const common = narrowPermissions(own, other)
  if (own.folder === undefined || other.folder === undefined || isWithinFolder(other.folder, own.folder)) return common
  if (isWithinFolder(own.folder, other.folder)) return { ...common, folder: own.folder }
  // Neither folder lies within the other: the run may use neither, so it gets no tools and no kinds.
  return { ...common, tools: [], kinds: [], folder: own.folder }
}

/** If the two cannot be compared, such as ids and a session, nothing is left. */
function narrowSend(one: Permissions['send'], other: Permissions['send']): Permissions['send'] {
  if (one === undefined || other === undefined) return one ?? other
  if (typeof one === 'string' && typeof other === 'string')
    return reaches.find((reach) => reach === one || reach === other)
  return typeof one === 'string' || typeof other === 'string' ? 'none' : one.filter((id) => other.includes(id))
}

/** How far a script lets a worker send that has these permissions, in words; undefined: as far as its record says. */
export function reachOf({ send }: Permissions): SendReach | undefined {
  return typeof send === 'string' ? send : undefined
}

/** Are the first permissions no wider than the second? The audit asks; scripts decide by children.lua. */
export function isWithinSend(send: Permissions['send'], outer: Permissions['send']): boolean {
  if (outer === undefined) return true
  if (send === undefined) return false
  if (send === 'none' || send.length === 0) return true
  if (typeof outer === 'string') return typeof send === 'string' && reaches.indexOf(send) <= reaches.indexOf(outer)
  return typeof send !== 'string' && send.every((id) => outer.includes(id))
}

function narrow(
  names: readonly string[] | undefined,
  more: readonly string[] | undefined,
): readonly string[] | undefined {
  if (names === undefined || more === undefined) return names ?? more
  return more.filter((name) => names.includes(name))
}
