/** Duty: read a part to its last file, and return its summary. */
import type { OpenFolder } from './folder.ts'
import { isManifest, manifestBytesMax } from './manifests.ts'
import { measureFile } from './measure.ts'
import type { Part } from './part.ts'
import type { Summary } from './summary.ts'
import { Tally } from './tally.ts'
import { type Checkpoint, walkPart } from './walk.ts'

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
