/**
 * Duty: why an entry could not be read, in words; and which errors are not the entry's fault.
 */

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'vanished while it was surveyed',
  ENOTDIR: 'was replaced while it was surveyed',
  ELOOP: 'was replaced by a link while it was surveyed',
  ENAMETOOLONG: 'the path is too long',
  EIO: 'read error of the device',
  EAGAIN: 'would block',
  ESTALE: 'vanished from the file server',
  EBUSY: 'busy',
  ENDLESS: 'a file of the kernel, without an end',
}

/** What this process or machine ran out of: says nothing about the entry, so the reading is tried again as a whole. */
const exhaustions = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Did this process or machine run out of something? */
export function isExhaustion(error: unknown): boolean {
  return exhaustions.has(codeOf(error))
}

/** Throws the error again, unless the entry is to blame. */
export function throwForeign(error: unknown): void {
  const code = codeOf(error)
  // An error without a code is no answer of the file system: a bug, or the signal to stop.
  if (!code.startsWith('E') || code.startsWith('ERR_') || isExhaustion(error)) throw error
}

/** The reason, if the entry is to blame; else throws the error again. */
export function reasonOf(error: unknown): string {
  throwForeign(error)
  const code = codeOf(error)
  return reasons[code] ?? code
}
