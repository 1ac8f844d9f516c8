/** Duty: tells files that the kernel makes up when they are read (/proc) from files that are stored somewhere. */
import { statfsSync } from 'node:fs'

/** As in linux/magic.h. */
const procMagic = 0x9fa0

const known = new Map<number, boolean>()

/** Is the open file, which is on this device, such a file? */
export function isOfKernel(descriptor: number, device: number): boolean {
  if (process.platform !== 'linux') return false
  let answer = known.get(device)
  if (answer === undefined) {
    answer = isOnProc(descriptor)
    known.set(device, answer)
  }
  return answer
}

function isOnProc(descriptor: number): boolean {
  try {
    return statfsSync(`/proc/self/fd/${descriptor}`).type === procMagic
  } catch {
    // Without /proc there are no files of it.
    return false
  }
}
