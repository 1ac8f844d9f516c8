/**
 * Duty: find the folder that an agent's tools may touch. The kind names it for the first input; it must lie within the folder that the
 * parent permits.
 */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import { ignoreRejection } from '../../core/check/ignore-rejection.ts'
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { InputError, LimitError } from '../../core/errors.ts'
import type { ContextContainer } from '../../core/history/context-container.ts'
import type { Assignment } from '../../core/ports/ports.ts'
import { isSystemFolder, isWithinFolder } from '../../core/worker/permissions.ts'
import { inFolderTime } from '../tool/folder-time.ts'

/** Null if the agent has no folder. Throws an InputError or a LimitError that fails the run. */
export async function agentFolder(
  { folder: named }: AgentDefinition,
  assignment: Assignment,
  container: ContextContainer,
): Promise<string | null> {
  const assigned = assignment.permissions.folder ?? null
  const who = `worker ${assignment.name} (${assignment.workerId})`
  const own = named === undefined ? assigned : nameFolder(named, container, who)
  if (own === null && assigned === null) return null
  if (own === null) throw beyondPermissions(who, assigned, 'no folder in particular')
  const inner = await real(own, who)
  await checkNodeFolder(assignment, own, inner, who)
  if (assigned === null || own === assigned) return own
  const outer = await real(assigned, who)
  if (leavesFolder(outer, inner)) throw beyondPermissions(who, assigned, own)
  // Returned as it was named, not as its real path, because permissions are compared as texts. A folder that lies within the permitted
  // one only through a link is named from the permitted folder, so that the agent can pass it on to its children.
  if (isWithinFolder(own, assigned)) return own
  const path = relative(outer, inner)
  return path === '' ? assigned : `${assigned}${sep}${path}`
}

/** The folder of the node bounds real places: permissions are compared as texts, and may name a link. */
async function checkNodeFolder({ nodeFolder }: Assignment, own: string, inner: string, who: string): Promise<void> {
  if (isSystemFolder(inner)) throw new InputError(`the folder ${own} of ${who} belongs to the system: name another.`)
  if (nodeFolder != null && leavesFolder(await real(nodeFolder, who), inner))
    throw new LimitError('permission_exceeded', `${who} asked for the folder ${own}, which its node does not permit.`)
}

function leavesFolder(outer: string, inner: string): boolean {
  const path = relative(outer, inner)
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)
}

function beyondPermissions(who: string, assigned: string | null, asked: string): LimitError {
  return new LimitError(
    'permission_exceeded',
    `${who} may use the folder ${assigned}, but asked for ${asked}, which is not within it.`,
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
  ignoreRejection(folder)
  throw new InputError(`the folder of ${who} must be an absolute path, not ${JSON.stringify(folder)}.`)
}

async function real(path: string, who: string): Promise<string> {
  const look = async () => {
    const folder = await realpath(path)
    return { folder, isFolder: (await stat(folder)).isDirectory() }
  }
  let found: Awaited<ReturnType<typeof look>>
  try {
    found = await inFolderTime({ place: path, late: `the folder ${path} did not open`, look })
  } catch (cause) {
    if (cause instanceof InputError) throw cause
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be opened'
    throw new InputError(`the folder ${path} of ${who} ${why}.`, { cause })
  }
  if (!found.isFolder) throw new InputError(`${path}, the folder of ${who}, is not a folder.`)
  return found.folder
}
