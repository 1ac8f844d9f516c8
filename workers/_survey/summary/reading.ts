/** Duty: read a part to its last file, and return its summary. */

import { isManifest, manifestBytesMax } from '../measure/manifests.ts'
import { measureFile } from '../measure/measure.ts'
import type { OpenFolder } from '../tree/folder.ts'
import type { Part } from '../tree/part.ts'
import { type Checkpoint, walkPart } from '../tree/walk.ts'
import type { Summary } from './summary.ts'
import { Tally } from './tally.ts'

/** Throws only if the machine ran out of a resource, or if the checkpoint throws. */
export function readPart(top: OpenFolder, part: Part, checkpoint: Checkpoint): Summary {
  const tally = new Tally()
  for (const entry of walkPart(top, part, checkpoint)) {
    if (entry.kind === 'unreadable') tally.addUnreadable(entry.path, entry.reason)
    else if (entry.kind === 'leftOut') tally.addOwnFolder()
    else if (entry.sort !== 'file') tally.addEntry(entry.sort)
    else {
      const { path, name, within } = entry
      const textBytesMax = isManifest(path) ? manifestBytesMax : 0
      tally.addMeasured(path, measureFile(within, name, { textBytesMax, checkpoint }))
    }
  }
  return tally.summary()
}
