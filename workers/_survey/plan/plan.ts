/**
 * Duty: plan how readers share a part: list its folder, estimate its entries, split it, and split the heaviest parts again while there is room, so
 * that a large folder deep in a chain of folders does not go to a single reader.
 * PLAN-1 There are at most `partsMax` parts, and their allowances together are at most `allowance`.
 */

import type { OpenFolder } from '../tree/folder.ts'
import type { Part } from '../tree/part.ts'
import { reasonOf, throwForeign } from '../tree/reason.ts'
import type { Checkpoint } from '../tree/walk.ts'
import { type Level, weighLevel } from './estimate.ts'
import { shareOut, splitPart, weightOf } from './split.ts'

/** A part is split again if it exceeds its target weight by this factor. */
const tooHeavyRatio = 2
/** Most further splits. Each costs a listing and an estimate. */
const splitsAgainMax = 10

export interface Room {
  readonly partsMax: number
  /** How many workers all parts may have together. */
  readonly allowance: number
  /** The least weight that a part should have. */
  readonly weightMin: number
}

export type Plan =
  | {
      readonly kind: 'split'
      readonly parts: readonly Part[]
      /** Folders that were listed while planning. No reader will count them. */
      readonly folders: number
      readonly hasOwnFolder: boolean
    }
  /** The folder is empty. */
  | { readonly kind: 'empty'; readonly hasOwnFolder: boolean }
  | { readonly kind: 'unreadable'; readonly reason: string }

export function planPart(top: OpenFolder, part: Part, room: Room, checkpoint: Checkpoint): Plan {
  let level: Level
  try {
    level = weighLevel(top, part, checkpoint)
  } catch (error) {
    return { kind: 'unreadable', reason: reasonOf(error) }
  }
  const { hasOwnFolder } = level
  const weight = weightOf(level)
  if (weight === 0) return { kind: 'empty', hasOwnFolder }

  const partsMax = Math.max(1, Math.min(room.partsMax, room.allowance, Math.ceil(weight / room.weightMin)))
  const target = weight / partsMax
  const first = partsMax === 1 ? { parts: [{ ...part, weight }], named: 0 } : splitPart(part, level, partsMax, target)
  let parts = [...first.parts]
  let folders = first.named
  const whole = new Set<Part>()
  for (let again = 0; again < splitsAgainMax && parts.length < partsMax; again++) {
    const heavy = heaviest(parts.filter((each) => isWholeFolder(each) && !whole.has(each)))
    if (heavy === null || heavy.weight <= target * tooHeavyRatio) break
    const split = splitAgain(top, heavy, partsMax - parts.length + 1, target, checkpoint)
    if (split === null) whole.add(heavy)
    else {
      parts = parts.flatMap((each) => (each === heavy ? split.parts : [each]))
      folders += split.named
    }
  }
  return { kind: 'split', parts: shareOut(parts, room.allowance), folders, hasOwnFolder }
}

function splitAgain(top: OpenFolder, part: Part, partsMax: number, target: number, checkpoint: Checkpoint) {
  try {
    const split = splitPart(part, weighLevel(top, part, checkpoint), partsMax, target)
    return split.named === 0 && split.parts.length === 1 ? null : split
  } catch (error) {
    // The reader of this part will report the error.
    throwForeign(error)
    return null
  }
}

function isWholeFolder(part: Part): boolean {
  return part.share === null && part.except.length === 0
}

function heaviest(parts: readonly Part[]): Part | null {
  return parts.reduce<Part | null>((most, part) => (most === null || part.weight > most.weight ? part : most), null)
}
