/**
 * Duty: what the file system of an open file tells about it: files that the kernel makes up when they are read (/proc), and files
 * that hold no data, whatever their size.
 */
import { type Stats, statfsSync } from 'node:fs'

/** As in linux/magic.h. */
const procMagic = 0x9fa0
/** ext2 to ext4, XFS, Btrfs, tmpfs, overlay: they count all blocks of a file at once. Others say 0 where they do not know. */
const countingBlocks = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630])
/** Smaller files are read soon enough; and the smallest may lie where no blocks are needed. */
const holeBytesMin = 64 * 1024 * 1024

const known = new Map<number, number>()

/** Is the open file, which is on this device, one that the kernel makes up? */
export function isOfKernel(descriptor: number, device: number): boolean {
  return typeOf(descriptor, device) === procMagic
}

/** Is the open file one big hole? Reading a TiB of zeros takes an hour. */
export function isHole(descriptor: number, stats: Stats): boolean {
  return stats.blocks === 0 && stats.size >= holeBytesMin && countingBlocks.has(typeOf(descriptor, stats.dev))
}

/** The magic number of its file system; 0 where that cannot be known. */
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
    // Without /proc there are no files of it.
    return 0
  }
}
