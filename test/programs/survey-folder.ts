/**
 * Duty: surveys a folder in memory, without Redis, and prints outcome and sizes as a line of JSON: for tests that survey as another
 * user, and for a look at a report:
 * `node --conditions=troupe-source test/programs/survey-folder.ts <folder> [--markdown]`
 */
import reader from '../../workers/reader.ts'
import surveyor from '../../workers/surveyor.ts'
import { MemorySession } from '../workers/support/session.ts'

const [folder = '.', flag] = process.argv.slice(2)
const session = new MemorySession({ surveyor, reader })
const startedAt = performance.now()
const outcome = await session.run('surveyor', { folder })
const ms = Math.round(performance.now() - startedAt)
if (flag === '--markdown') process.stdout.write((outcome.value as { markdown: string }).markdown)
else {
  const { biggestMessage, biggestState, ran } = session
  const depth = Math.max(...ran.map((worker) => worker.depth))
  process.stdout.write(
    `${JSON.stringify({ ...outcome, ms, depth, workers: ran.length, biggestMessage, biggestState })}\n`,
  )
}
