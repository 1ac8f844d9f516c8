/**
 * Duty: say in words why an entry could not be read, and recognise errors that are not the entry's fault.
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

/** Errors that mean that this process or machine ran out of a resource. They say nothing about the entry, so the whole reading is tried again. */
const exhaustions = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** True if this process or machine ran out of a resource. */
export function isExhaustion(error: unknown): boolean {
  return exhaustions.has(codeOf(error))
}

/** Throws the error again unless it is an error of the entry. */
export function throwForeign(error: unknown): void {
  const code = codeOf(error)
  // An error without a code does not come from the file system. It is a bug, or the signal to stop.
  if (!code.startsWith('E') || code.startsWith('ERR_') || isExhaustion(error)) throw error
}

/** The reason in words if it is an error of the entry; otherwise throws the error again. */
export function reasonOf(error: unknown): string {
  throwForeign(error)
  const code = codeOf(error)
  return reasons[code] ?? code
}
