/**
 * Breadth-first search through the worlds of one scene: each state once, told apart by a digest of its canonical text. What waits to
 * be looked at is kept as text outside the heap; a trace is found again by replaying the actions that led to it.
 */
import { hash } from 'node:crypto'
import { act, actionsOf, isFree } from './actions.ts'
import { restViolations, stateViolations } from './checks/state-checks.ts'
import type { Mutant, Rules } from './rules/shared-rules.ts'
import { type Action, type Faults, newWorld, type Program, type World } from './world.ts'

export interface Scene {
  readonly name: string
  readonly faults: Partial<Faults>
  readonly mode?: World['mode']
  /** How many of the messages are sent. */
  readonly messages?: number
  readonly program?: Program
}

export interface Found {
  readonly scene: string
  readonly states: number
  readonly depth: number
  /** States in which nothing more happens. */
  readonly atRest: number
  readonly transitions: number
  /** Every state of the scene was looked at. */
  readonly isWhole: boolean
  readonly violation: { readonly lines: readonly string[]; readonly trace: readonly string[] } | null
}

export interface SearchOptions {
  readonly statesMost: number
  readonly without?: Mutant | undefined
}

/**
 * Wake-ups are named by the order in which the text names them: their real names say nothing. Sets are sorted; of leases that are over the
 * order is that of their ends, and counts.
 */
function canonical(world: World): string {
  const { store } = world
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  const leases = [
    ...store.leases.filter(({ over }) => !over).toSorted(byId),
    ...store.leases.filter(({ over }) => over),
  ]
  const sorted = { ...world, store: { ...store, leases }, jobs: world.jobs.toSorted() }
  const names = new Map<string, string>()
  return JSON.stringify(sorted).replace(/"b\d+"/g, (wakeup) => {
    const name = names.get(wakeup) ?? `"b${names.size + 1}"`
    names.set(wakeup, name)
    return name
  })
}

/** A number that no wake-up of this text has. */
function freshSeed(text: string): number {
  let most = 0
  for (const [, number] of text.matchAll(/"b(\d+)"/g)) most = Math.max(most, Number(number))
  return most + 1
}

class Search {
  readonly #rules: Rules
  readonly #scene: Scene
  readonly #most: number
  readonly #seen = new Set<string>()
  readonly #waiting: (Buffer | null)[] = []
  /** Of each state: the state before it, and the place of the action between them. */
  readonly #parents: number[] = []
  readonly #choices: number[] = []
  readonly #depths: number[] = []
  #atRest = 0
  #transitions = 0

  constructor(scene: Scene, { statesMost, without }: SearchOptions) {
    this.#scene = scene
    this.#most = statesMost
    this.#rules = { suspectAfter: 1, poisonAfter: 1, without }
  }

  run(): Found {
    this.#add(canonical(this.#start()), -1, -1)
    let next = 0
    for (; next < this.#waiting.length && this.#parents.length < this.#most; next++) {
      const violation = this.#expand(next)
      if (violation !== null) return this.#found(next, violation)
    }
    return this.#found(next, null)
  }

  #start(): World {
    const { faults, mode, messages, program } = this.#scene
    return newWorld(faults, mode, program, messages)
  }

  #found(next: number, violation: Found['violation']): Found {
    return {
      scene: this.#scene.name,
      states: this.#parents.length,
      depth: this.#depths.at(-1) ?? 0,
      atRest: this.#atRest,
      transitions: this.#transitions,
      isWhole: violation === null && next === this.#waiting.length,
      violation,
    }
  }

  #add(text: string, parent: number, choice: number): boolean {
    const digest = hash('sha1', text, 'base64')
    if (this.#seen.has(digest)) return false
    this.#seen.add(digest)
    this.#waiting.push(Buffer.from(text, 'latin1'))
    this.#parents.push(parent)
    this.#choices.push(choice)
    this.#depths.push(parent < 0 ? 0 : (this.#depths[parent] as number) + 1)
    return true
  }

  #expand(index: number): Found['violation'] {
    const text = (this.#waiting[index] as Buffer).toString('latin1')
    this.#waiting[index] = null
    const world = JSON.parse(text) as World
    const seed = freshSeed(text)
    let goesOn = false
    for (const [choice, action] of actionsOf(world).entries()) {
      const { world: next, violations } = act(world, action, seed, this.#rules)
      this.#transitions++
      if (violations.length > 0) return { lines: violations, trace: this.#trace(index, action) }
      const nextText = canonical(next)
      if (nextText === text) continue
      goesOn ||= isFree(action)
      if (!this.#add(nextText, index, choice)) continue
      const broken = stateViolations(next)
      if (broken.length > 0) return { lines: broken, trace: this.#trace(index, action) }
    }
    if (goesOn) return null
    this.#atRest++
    const restless = restViolations(world)
    return restless.length > 0 ? { lines: restless, trace: this.#trace(index, null) } : null
  }

  /** The actions that lead to this state, with the last one. */
  #trace(index: number, last: Action | null): string[] {
    const choices: number[] = []
    for (let at = index; at > 0; at = this.#parents[at] as number) choices.unshift(this.#choices[at] as number)
    const lines: string[] = []
    let text = canonical(this.#start())
    for (const choice of choices) {
      const world = JSON.parse(text) as World
      const action = actionsOf(world)[choice] as Action
      lines.push(describe(action))
      text = canonical(act(world, action, freshSeed(text), this.#rules).world)
    }
    return last === null ? lines : [...lines, describe(last)]
  }
}

function describe({ kind, ...rest }: Action): string {
  return [kind, ...Object.entries(rest).map(([name, value]) => `${name}=${value}`)].join(' ')
}

export function explore(scene: Scene, options: SearchOptions): Found {
  return new Search(scene, options).run()
}
