/**
 * `npm run model`: searches the worlds of the model, small scenes first, those of guests with one more call under way than in `npm test`, then the
 * one that mixes all faults. Exit codes: 0 no violation; 1 a violation, printed with the shortest way to it; 2 wrong usage.
 */
import { parseArgs } from 'node:util'
import { explore, type Found } from './explore.ts'
import { guestScenes } from './guests/guest-scenes.ts'
import { exploreGuests } from './guests/guest-search.ts'
import { mixedScene, scenes } from './scenes.ts'

const statesMostByDefault = 1_600_000
/** Share of the bound that each small scene may use; the mixed scene gets what is left. */
const smallShare = 0.03

const usage = `Usage: npm run model -- [--json] [--states <number>]

Searches the worlds of the model (docs/model.md) for a state that breaks an invariant; ${statesMostByDefault} states by default.
Exit codes: 0 no violation, 1 a violation, 2 wrong usage.
`

function readStates(): { json: boolean; states: number } | 'help' | null {
  try {
    const options = {
      json: { type: 'boolean' },
      states: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    } as const
    const { values } = parseArgs({ options })
    if (values.help === true) return 'help'
    const states = values.states === undefined ? statesMostByDefault : Number(values.states)
    return Number.isInteger(states) && states > 0 ? { json: values.json === true, states } : null
  } catch {
    return null
  }
}

function main(): number {
  const flags = readStates()
  if (flags === 'help') {
    process.stdout.write(usage)
    return 0
  }
  if (flags === null) {
    process.stderr.write(usage)
    return 2
  }
  const startedAt = performance.now()
  const seconds = () => Number(((performance.now() - startedAt) / 1_000).toFixed(1))
  // If other programs use the machine as well, this is the time that the search itself took.
  const cpuSeconds = () => Number((process.cpuUsage().user / 1_000_000).toFixed(1))
  const results: Found[] = []
  let left = flags.states
  const small = Math.max(1, Math.ceil(flags.states * smallShare))
  const searches = [
    ...scenes.map((scene) => () => explore(scene, { statesMost: small })),
    ...guestScenes.map((scene) => () => {
      return exploreGuests({ ...scene, callsMost: scene.callsMost + 1, heals: true }, { statesMost: small })
    }),
    () => explore(mixedScene, { statesMost: Math.max(1, left) }),
  ]
  for (const search of searches) {
    const found = search()
    left -= found.states
    results.push(found)
    if (!flags.json) process.stdout.write(`${lineOf(found)}  ${seconds()} s so far\n`)
    if (found.violation !== null) break
  }
  const sum = (of: (found: Found) => number) => results.reduce((total, found) => total + of(found), 0)
  const totals = {
    states: sum(({ states }) => states),
    transitions: sum(({ transitions }) => transitions),
    depth: Math.max(...results.map(({ depth }) => depth)),
    seconds: seconds(),
    cpuSeconds: cpuSeconds(),
    violations: sum(({ violation }) => (violation === null ? 0 : 1)),
  }
  const broken = results.find(({ violation }) => violation !== null)?.violation ?? null
  if (flags.json) process.stdout.write(`${JSON.stringify({ ...totals, violation: broken, scenes: results })}\n`)
  else {
    const { states, depth, violations } = totals
    process.stdout.write(
      `${states} states, depth ${depth}, ${totals.seconds} s (${totals.cpuSeconds} s of CPU), ${violations} violations\n`,
    )
    if (broken !== null) process.stdout.write(`${broken.lines.join('\n')}\nafter:\n  ${broken.trace.join('\n  ')}\n`)
  }
  return broken === null ? 0 : 1
}

function lineOf({ scene, states, depth, atRest, isWhole }: Found): string {
  const reach = isWhole ? 'whole' : 'bound reached'
  return `${scene.padEnd(26)} ${String(states).padStart(8)} states  depth ${String(depth).padStart(2)}  ${atRest} at rest  ${reach}`
}

process.exitCode = main()
