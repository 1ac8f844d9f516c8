/** What may happen in the world of guests, and what each happening does. */
import { GuestRules, type Mutant } from './guest-rules.ts'
import { type Call, gatesOf, type Worker, type World, workerOf } from './guest-world.ts'

/** A call arrives; `twice`: it will arrive once more. */
interface Arrival {
  readonly kind: 'arrive'
  readonly call: number
  readonly twice?: true
}

export type Action =
  | { readonly kind: 'claim' | 'begin' | 'end' | 'die' | 'cancel'; readonly worker: number }
  | Arrival
  | { readonly kind: 'lose'; readonly call: number }
  /** A fire hands out what is to be told of this run: by the first partition, or by its own. */
  | { readonly kind: 'tellGuest' | 'tellHost'; readonly run: string }
  | { readonly kind: 'admit'; readonly gate: string }
  /** The time of the rate is over; or the first partition loses what it has of guests. */
  | { readonly kind: 'pass' | 'forget' }

/** What a script answered, where one ran. */
export interface Done {
  readonly world: World
  readonly script: Call['script'] | null
  readonly run: string
  readonly says: string
  readonly answer: string
}

export function actionsOf(world: World, callsMost: number): Action[] {
  const actions: Action[] = []
  const hasRoom = world.calls.length < callsMost
  for (const [id, worker] of world.workers.entries()) actions.push(...actionsOfWorker(id, worker, world, hasRoom))
  for (const call of world.calls.keys()) {
    actions.push({ kind: 'arrive', call }, { kind: 'lose', call })
    if (world.faults.twice > 0 && hasRoom) actions.push({ kind: 'arrive', call, twice: true })
  }
  if (hasRoom) {
    for (const run of world.news) actions.push({ kind: 'tellGuest', run })
    for (const run of world.told) actions.push({ kind: 'tellHost', run })
  }
  for (const [gate, { waiting, begun, in: counted }] of Object.entries(world.gates)) {
    if (waiting.length > 0 || (world.heals && counted.length > 0)) actions.push({ kind: 'admit', gate })
    if (begun > 0) actions.push({ kind: 'pass' })
  }
  if (world.faults.forgets > 0) actions.push({ kind: 'forget' })
  return actions
}

function actionsOfWorker(id: number, worker: Worker, { faults }: World, hasRoom: boolean): Action[] {
  const { status, turn, isCancelled, isGuest } = worker
  const actions: Action[] = []
  const say = (kind: 'claim' | 'begin' | 'end' | 'die' | 'cancel') => actions.push({ kind, worker: id })
  if (status === 'queued' && !isCancelled) say('claim')
  if (turn === 'new' && (hasRoom || !isGuest)) say('begin')
  if (status !== 'over' && (turn === 'in' || isCancelled)) say('end')
  if (isGuest && status === 'running') say('die')
  if (faults.cancels > 0 && status !== 'over' && !isCancelled) say('cancel')
  return actions
}

/** It changes the world that it gets. */
export function act(world: World, action: Action, without?: Mutant): Done {
  const rules = new GuestRules(world, without)
  const nothing: Done = { world, script: null, run: '', says: '', answer: '' }
  switch (action.kind) {
    case 'claim': {
      const worker = world.workers[action.worker] as Worker
      Object.assign(worker, { status: 'running', turn: worker.gates?.state === 'in' ? 'in' : 'new' })
      return nothing
    }
    case 'begin':
      return begin(world, rules, action.worker)
    case 'end':
      makeStale(world, action.worker)
      rules.end(action.worker)
      return nothing
    case 'die':
      makeStale(world, action.worker)
      Object.assign(world.workers[action.worker] as Worker, { status: 'queued', turn: 'none' })
      return nothing
    case 'cancel':
      world.faults.cancels--
      ;(world.workers[action.worker] as Worker).isCancelled = true
      return nothing
    case 'arrive':
      return arrive(world, rules, action)
    case 'lose':
      world.calls.splice(action.call, 1)
      return nothing
    case 'tellGuest':
      world.calls.push({ script: 'guest', says: 'in', run: action.run, isStale: false })
      return nothing
    case 'tellHost': {
      const standing = rules.standingOf(action.run)
      if (standing !== 'later') world.calls.push({ script: 'host', says: standing, run: action.run, isStale: false })
      if (standing === 'out' && !rules.has('a guest is reported until the first partition knows that it is over'))
        world.told = world.told.filter((run) => run !== action.run)
      return nothing
    }
    case 'admit':
      rules.admit(action.gate)
      return nothing
    case 'pass':
      for (const gate of Object.values(world.gates)) gate.begun = 0
      world.admitted = []
      return nothing
    case 'forget':
      forget(world)
      return nothing
  }
}

/** A run of the first partition asks there by `enter` itself; a guest asks `host` before. */
function begin(world: World, rules: GuestRules, id: number): Done {
  const worker = world.workers[id] as Worker
  const run = rules.runOf(id)
  if (worker.isGuest && rules.has('a guest asks before it begins')) {
    worker.turn = 'asks'
    world.calls.push({ script: 'host', says: 'asks', run, isStale: false })
    return { world, script: null, run, says: '', answer: '' }
  }
  return enter(world, rules, id, worker.isGuest ? 'in' : undefined)
}

function enter(world: World, rules: GuestRules, id: number, says?: string): Done {
  const worker = world.workers[id] as Worker
  const run = rules.runOf(id)
  const answer = rules.enter(id, says)
  worker.turn = answer === 'waits' ? 'none' : answer
  return { world, script: 'enter', run, says: says ?? '', answer }
}

/** The node that called is dead, or its turn is over: what it asked may still arrive, and nobody enters by the answer. */
function makeStale(world: World, worker: number): void {
  world.calls = world.calls.filter(({ script, run }) => script !== 'enter' || Number(run.split(':')[0]) !== worker)
  for (const call of world.calls)
    if (call.says === 'asks' && Number(call.run.split(':')[0]) === worker) call.isStale = true
}

/** As GuestStore does: what follows from an answer is the next call. */
function arrive(world: World, rules: GuestRules, { call: index, twice }: Arrival): Done {
  const { script, says, run, isStale } = world.calls[index] as Call
  world.calls.splice(index, 1)
  if (twice) {
    world.faults.twice--
    // The caller goes on with the first answer.
    world.calls.push({ script, says, run, isStale: true })
  }
  const follow = (next: Call['script'], what: string) =>
    isStale || world.calls.push({ script: next, says: what, run, isStale: false })
  const worker = Number(run.split(':')[0])
  if (script === 'enter') {
    if (isStale) return { world, script: null, run, says, answer: '' }
    return enter(world, rules, worker, says)
  }
  if (script === 'guest') {
    const answer = rules.guest(run, says)
    if (says === 'in' && answer !== 'later') follow('host', answer)
    return { world, script, run, says, answer }
  }
  const answer = rules.host(run, says)
  if (says === 'asks') follow('enter', answer)
  if (says === 'out') follow('guest', 'out')
  if (says === 'waits' && answer === 'in') follow('guest', 'in')
  return { world, script, run, says, answer }
}

/** The first partition goes back to a time before it knew any guest. */
function forget(world: World): void {
  world.faults.forgets = -1
  const isGuest = (run: string) => workerOf(world, run).isGuest
  for (const gate of Object.values(world.gates)) {
    gate.in = gate.in.filter((run) => !isGuest(run))
    gate.waiting = gate.waiting.filter((run) => !isGuest(run))
  }
  world.arrivals = world.arrivals.filter((run) => !isGuest(run))
  world.news = []
  world.admitted = []
}

/** What must be so in each world, and after each script; a sentence for each thing that is not. */
export function violations(before: World, { world, script, run, says, answer }: Done): string[] {
  const lines: string[] = []
  const { limits, gates, admitted } = world
  const isWhole = world.faults.forgets >= 0
  for (const [name, gate] of Object.entries(gates)) {
    if (!name.startsWith('runs')) continue
    const inProgress = runsInProgress(world, name.slice('runs '.length))
    if (isWhole && inProgress.length > (limits.runs ?? 0))
      lines.push(`${inProgress.join(' and ')} are in progress at once`)
    for (const one of isWhole ? inProgress : [])
      if (!gate.in.includes(one)) lines.push(`${one} is in progress and not counted`)
    for (const one of gate.in) if (gate.waiting.includes(one)) lines.push(`${one} has a place and waits for it`)
  }
  if (limits.rate && admitted.length > limits.rate) lines.push(`${admitted.join(' and ')} began within the time`)
  for (const one of world.arrivals)
    if (!Object.values(gates).some(({ waiting }) => waiting.includes(one))) lines.push(`${one} waits nowhere`)
  if (script === 'host') lines.push(...violationsOfHost(before, world, { run, says, answer }))
  if (script === 'guest' && answer === 'in' && workerOf(world, run).gates?.state !== 'in')
    lines.push(`the first partition is told that ${run} is in progress, and its record does not say so`)
  return lines
}

function violationsOfHost(
  before: World,
  world: World,
  { run, says, answer }: Pick<Done, 'run' | 'says' | 'answer'>,
): string[] {
  const lines: string[] = []
  const own = gatesOf(world, workerOf(world, run)).map(([, gate]) => gate)
  const ownBefore = gatesOf(before, workerOf(before, run))
  const isThere = own.some((gate) => gate.in.includes(run) || gate.waiting.includes(run))
  if (says === 'out' && (isThere || world.news.includes(run))) lines.push(`${run} is over, and something is left of it`)
  if (says === 'in' && world.limits.runs && !own[0]?.in.includes(run))
    lines.push(`${run} is in progress and not counted`)
  if (says !== 'asks') return lines
  const isNew =
    !before.arrivals.includes(run) && !before.news.includes(run) && !ownBefore.some(([, gate]) => gate.in.includes(run))
  const { runs = 0, rate = 0 } = world.limits
  const isOpen = ownBefore.every(
    ([sort, gate]) => gate.waiting.length === 0 && (sort === 'runs' ? gate.in.length < runs : gate.begun < rate),
  )
  if (isNew && answer !== 'in' && isOpen) lines.push(`${run} waits, and its gates are open`)
  if (isNew && answer === 'in' && ownBefore.some(([, gate]) => gate.waiting.length > 0)) lines.push(`${run} overtakes`)
  if (!isNew && world.admitted.length > before.admitted.length) lines.push(`${run} began twice`)
  if (before.arrivals.includes(run) && before.arrivals.join(' ') !== world.arrivals.join(' '))
    lines.push(`${run} has lost its turn`)
  return lines
}

/** By their records. */
function runsInProgress({ workers }: World, key: string): string[] {
  return workers.flatMap(({ isGuest, key: own, gates }, id) => {
    if (own !== key || gates?.state !== 'in') return []
    return [isGuest ? `${id}:${gates.version}` : String(id)]
  })
}

/** Nobody is left, and nothing at the gates. */
export function isOver({ workers, gates, news, told }: World): boolean {
  const isEmpty = Object.values(gates).every((gate) => gate.in.length + gate.waiting.length === 0)
  return workers.every(({ status }) => status === 'over') && isEmpty && news.length + told.length === 0
}
