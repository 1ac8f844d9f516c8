/**
 * All worlds of a scene of guests, breadth-first. Workers that are alike may change places: of such worlds one is looked at. When all are known, each must
 * have a way to the end.
 */

import type { Found } from '../explore.ts'
import { type Action, act, actionsOf, isOver, violations } from './guest-actions.ts'
import type { Mutant } from './guest-rules.ts'
import { newWorld, type Scene, type World } from './guest-world.ts'

/** Orders of the workers that leave alike workers alike. */
function ordersOf({ workers }: Scene): number[][] {
  const alike = (a: number, b: number) => JSON.stringify(workers[a]) === JSON.stringify(workers[b])
  const extend = (order: number[]): number[][] => {
    if (order.length === workers.length) return [order]
    const free = [...workers.keys()].filter((id) => !order.includes(id) && alike(id, order.length))
    return free.flatMap((id) => extend([...order, id]))
  }
  return extend([])
}

/** `order`: which worker comes at each place. */
function textOf(world: World, order: readonly number[]): string {
  const rename = (run: string) => {
    const [id, ...version] = run.split(':')
    return [order.indexOf(Number(id)), ...version].join(':')
  }
  const set = (runs: readonly string[]) => runs.map(rename).toSorted()
  const gates = Object.entries(world.gates).map(([name, gate]) => [
    name,
    { ...gate, in: set(gate.in), waiting: gate.waiting.map(rename) },
  ])
  return JSON.stringify({
    ...world,
    workers: order.map((id) => world.workers[id]),
    gates: Object.fromEntries(gates),
    arrivals: world.arrivals.map(rename),
    news: set(world.news),
    told: set(world.told),
    admitted: set(world.admitted),
    calls: world.calls
      .map(({ script, says, run, isStale }) => ({ script, says, run: rename(run), isStale }))
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  })
}

export function exploreGuests(scene: Scene, { statesMost, without }: { statesMost: number; without?: Mutant }): Found {
  const orders = ordersOf(scene)
  const canonical = (world: World) => orders.map((order) => textOf(world, order)).toSorted()[0] as string
  const texts = [canonical(newWorld(scene))]
  const numbers = new Map([[texts[0] as string, 0]])
  const parents = [-1]
  const depths = [0]
  let transitions = 0
  /** By state: those from which it follows by what is no cancel and no fault. */
  const before: number[][] = [[]]
  const ends: number[] = []
  const found = (isWhole: boolean, lines: readonly string[] = [], at = 0, last?: Action): Found => ({
    scene: scene.name,
    states: texts.length,
    depth: depths.at(-1) ?? 0,
    atRest: ends.length,
    transitions,
    isWhole,
    violation: lines.length === 0 ? null : { lines, trace: traceTo(at, last) },
  })
  const traceTo = (at: number, last?: Action): string[] => {
    const path = [at]
    while (path[0] !== 0) path.unshift(parents[path[0] as number] as number)
    const steps = path.slice(1).map((next, index) => {
      const from = texts[path[index] as number] as string
      const to = texts[next]
      const action = actionsOf(JSON.parse(from) as World, scene.callsMost).find(
        (one) => canonical(act(JSON.parse(from) as World, one, without).world) === to,
      )
      return describe(JSON.parse(from) as World, action)
    })
    return last ? [...steps, describe(JSON.parse(texts[at] as string) as World, last)] : steps
  }
  for (let at = 0; at < texts.length; at++) {
    if (texts.length > statesMost) return found(false)
    const text = texts[at] as string
    const world = JSON.parse(text) as World
    if (isOver(world)) ends.push(at)
    for (const action of actionsOf(world, scene.callsMost)) {
      const done = act(JSON.parse(text) as World, action, without)
      transitions++
      const lines = violations(world, done)
      if (lines.length > 0) return found(false, lines, at, action)
      const next = canonical(done.world)
      let number = numbers.get(next)
      if (number === undefined) {
        number = texts.length
        numbers.set(next, number)
        texts.push(next)
        parents.push(at)
        depths.push((depths[at] as number) + 1)
        before.push([])
      }
      const isFree = action.kind !== 'cancel' && action.kind !== 'forget' && !('twice' in action)
      if (isFree) (before[number] as number[]).push(at)
    }
  }
  const stuck = firstStuck(texts.length, ends, before)
  return stuck === null ? found(true) : found(true, ['somebody waits for ever, or something is left at a gate'], stuck)
}

/** The first state from which no way leads to an end. */
function firstStuck(states: number, ends: readonly number[], before: readonly (readonly number[])[]): number | null {
  const good = new Uint8Array(states)
  const left = [...ends]
  for (const end of ends) good[end] = 1
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    for (const from of before[at] as readonly number[]) {
      if (good[from] === 1) continue
      good[from] = 1
      left.push(from)
    }
  }
  const first = good.indexOf(0)
  return first < 0 ? null : first
}

function describe(world: World, action: Action | undefined): string {
  if (action === undefined) return '?'
  if (!('call' in action)) return Object.values(action).join(' ')
  const { script, says, run } = world.calls[action.call] as World['calls'][number]
  return `${action.kind}${'twice' in action ? ' twice' : ''} ${script} ${says} ${run}`
}
