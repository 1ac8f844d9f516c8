/**
 * Duty: find the folder that an agent's tools may touch. The kind names it for the first input; it must lie within the folder that the
 * parent permits.
 */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { InputError, LimitError } from '../../core/errors.ts'
import type { ContextContainer } from '../../core/history/context-container.ts'
import type { Grant } from '../../core/ports/ports.ts'
import { isWithinFolder } from '../../core/worker/worker-grant.ts'

/** Null if the agent has no folder. Throws an InputError or a LimitError that fails the run. */
export async function agentFolder(
  { folder: named }: AgentDefinition,
  grant: Grant,
  container: ContextContainer,
): Promise<string | null> {
  const granted = grant.allowed.folder ?? null
  const who = `worker ${grant.name} (${grant.workerId})`
  const own = named === undefined ? granted : nameFolder(named, container, who)
  if (own === null && granted === null) return null
  if (own === null) throw beyondGrant(who, granted, 'no folder in particular')
  const inner = await real(own, who)
  if (granted === null || own === granted) return own
  const path = relative(await real(granted, who), inner)
  if (path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)) throw beyondGrant(who, granted, own)
  // Returned as it was named, not as its real path, because permissions are compared as texts. A folder that lies within the permitted
  // one only through a link is named from the permitted folder, so that the agent can pass it on to its children.
  if (isWithinFolder(own, granted)) return own
  return path === '' ? granted : `${granted}${sep}${path}`
}

function beyondGrant(who: string, granted: string | null, asked: string): LimitError {
  return new LimitError(
    'grant_exceeded',
    `${who} may use the folder ${granted}, but asked for ${asked}, which is not within it.`,
  )
}

function nameFolder(
  named: NonNullable<AgentDefinition['folder']>,
  { firstInput }: ContextContainer,
  who: string,
): string | null {
  let folder: unknown
  try {
    folder = named(firstInput)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`the input of ${who} names no folder: ${why}`, { cause })
  }
  if (folder === null || (typeof folder === 'string' && isAbsolute(folder))) return folder
  throw new InputError(`the folder of ${who} must be an absolute path, not ${JSON.stringify(folder)}.`)
}

async function real(path: string, who: string): Promise<string> {
  let isFolder: boolean
  let place: string
  try {
    place = await realpath(path)
    isFolder = (await stat(place)).isDirectory()
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be opened'
    throw new InputError(`the folder ${path} of ${who} ${why}.`, { cause })
  }
  if (!isFolder) throw new InputError(`${path}, the folder of ${who}, is not a folder.`)
  return place
}
