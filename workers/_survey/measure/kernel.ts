/**
 * Duty: recognise special files by their file system: files whose content the kernel generates when they are read (/proc), and files that hold no
 * data, whatever their size.
 */
import { type Stats, statfsSync } from 'node:fs'

/** The magic numbers of file systems, as in linux/magic.h. */
const procMagic = 0x9fa0
/** ext2 to ext4, XFS, Btrfs, tmpfs, overlay. These count the blocks of a file at once; others report 0 if they do not know. */
const countingBlocks = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630])
/** Smaller files are simply read. The smallest ones may need no blocks although they hold data. */
const holeBytesMin = 64 * 1024 * 1024

const known = new Map<number, number>()

/** True if the kernel generates the content of the open file, which is on this device. */
export function isOfKernel(descriptor: number, device: number): boolean {
  return typeOf(descriptor, device) === procMagic
}

/** True if the open file has no data at all. Reading a TiB of zeros would take an hour. */
export function isHole(descriptor: number, stats: Stats): boolean {
  return stats.blocks === 0 && stats.size >= holeBytesMin && countingBlocks.has(typeOf(descriptor, stats.dev))
}

/** The magic number of its file system. 0 if it is unknown. */
function typeOf(descriptor: number, device: number): number {
  if (process.platform !== 'linux') return 0
  let type = known.get(device)
  if (type === undefined) {
    type = askType(descriptor)
    known.set(device, type)
  }
  return type
}

function askType(descriptor: number): number {
  try {
    return statfsSync(`/proc/self/fd/${descriptor}`).type
  } catch {
    // Without /proc no file can belong to it.
    return 0
  }
}
