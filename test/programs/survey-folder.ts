/**
 * Duty: surveys a folder in memory, without Redis, and prints outcome and sizes as a line of JSON: for tests that survey as another
 * user, and for a look at a report:
 * `node --conditions=troupe-source test/programs/survey-folder.ts <folder> [--markdown | --handlers]`
 */
import { byAgents, byHandlers, type Survey } from '../workers/support/surveys.ts'

const [folder = '.', flag] = process.argv.slice(2)
const survey = flag === '--handlers' ? byHandlers : byAgents
const startedAt = performance.now()
const { outcome, ran, errors, biggestMessage } = await survey({ folder })
const ms = Math.round(performance.now() - startedAt)
if (flag === '--markdown') process.stdout.write((outcome.value as Survey).markdown)
else {
  const depth = Math.max(...ran.map((worker) => worker.depth))
  const workers = ran.length
  process.stdout.write(`${JSON.stringify({ ...outcome, ms, depth, workers, errors, biggestMessage })}\n`)
}
