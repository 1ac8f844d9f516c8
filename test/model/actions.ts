/** What may happen next in a world, and what the world is then. */

import type { Answer, Call } from './calls.ts'
import { checkCall } from './checks/call-checks.ts'
import { firstAsk, type Store } from './records.ts'
import { letPass, reduce } from './rules/reducer.ts'
import type { Rules } from './rules/shared-rules.ts'
import {
  afterAnswer,
  callOfClient,
  canAbandon,
  childId,
  claiming,
  commitOf,
  hasStep,
  mustEnter,
  sleep,
} from './senders.ts'
import { sightOf } from './sights.ts'
import type { Action, Client, Executed, Fate, Faults, Slot, Turn, World } from './world.ts'

/** Everything that may happen next. */
export function actionsOf(world: World): Action[] {
  const actions: Action[] = []
  const { store, slots, clients, jobs, faults, late } = world
  const fates: Fate[] = ['fine']
  if (faults.lostAnswers > 0) fates.push('lost')
  if (faults.lateCalls > 0) fates.push('late')
  for (const [index, client] of clients.entries()) {
    if (client.pending !== null) actions.push({ kind: 'sendAgain', from: 'client', index })
    else if (client.state === 'new' && canSubmit(world, index))
      for (const fate of fates) actions.push({ kind: 'submit', client: index, fate })
  }
  for (const [index, slot] of slots.entries()) actions.push(...actionsOfSlot(world, index, slot, fates))
  for (const index of late.keys()) actions.push({ kind: 'arrive', late: index })
  for (const index of jobs.keys()) {
    if (faults.lostJobs > 0) actions.push({ kind: 'loseJob', job: index })
    if (faults.doubledJobs > 0) actions.push({ kind: 'doubleJob', job: index })
  }
  actions.push(...timeActions(world))
  if (store.session.unfinished) actions.push({ kind: 'finish' })
  if (store.timers.length > 0 || store.gate.isListed) actions.push({ kind: 'fire' })
  if (faults.looks > 0) for (const worker of Object.keys(store.workers)) actions.push({ kind: 'look', worker })
  if (faults.cancels > 0 && store.session.state === 'active') actions.push({ kind: 'cancel' })
  if (faults.failOvers > 0 && store.session.state !== 'absent')
    actions.push({ kind: world.replica === null ? 'replicate' : 'failOver' })
  return actions
}

function canSubmit({ store, program }: World, client: number): boolean {
  if (client === 0) return true
  if (client >= 2 && program === 'asks') return store.asks[firstAsk] !== undefined
  return client === 1 ? store.session.state !== 'absent' : store.workers[childId] !== undefined
}

function actionsOfSlot({ jobs, faults, store }: World, index: number, slot: Slot, fates: readonly Fate[]): Action[] {
  const actions: Action[] = []
  if (store.session.state !== 'absent') actions.push({ kind: 'sweep', slot: index })
  if (slot.wakeup === '') {
    for (const job of jobs.keys()) actions.push({ kind: 'take', slot: index, job })
    return actions
  }
  if (faults.crashes > 0) actions.push({ kind: 'crash', slot: index })
  if (slot.pending !== null) return [...actions, { kind: 'sendAgain', from: 'slot', index }]
  for (const fate of fates) {
    if (slot.turn === null) actions.push({ kind: 'claim', slot: index, fate })
    else if (mustEnter(slot.turn)) actions.push({ kind: 'enter', slot: index, fate })
    else {
      if (hasStep(slot.turn) && !slot.turn.cancelled && slot.turn.assignment.purpose === 'run')
        actions.push({ kind: 'commit', slot: index, how: 'step', fate })
      actions.push({ kind: 'commit', slot: index, how: 'end', fate })
      if (faults.leaves > 0) actions.push({ kind: 'commit', slot: index, how: 'leave', fate })
      if (faults.abandons > 0 && canAbandon(slot.turn))
        actions.push({ kind: 'commit', slot: index, how: 'abandon', fate })
    }
  }
  if (slot.turn !== null && faults.renews > 0 && !slot.isBusy) actions.push({ kind: 'renew', slot: index })
  return actions
}

/** A lease or a wake-up that nobody keeps ends by itself; if somebody keeps it, its end is a fault. */
function timeActions({ store, slots, jobs, faults }: World): Action[] {
  const actions: Action[] = []
  for (const { id, over } of store.leases) {
    if (over) continue
    const isKept = slots.some((slot) => slot.pending !== null || isHeldBy(slot, store, id))
    if (!isKept || faults.expiries > 0) actions.push({ kind: 'expire', worker: id, fault: isKept })
  }
  for (const { id, over } of [...store.wakeups, ...store.busy]) {
    if (over) continue
    const isKept = jobs.includes(id) || slots.some((slot) => slot.wakeup === id)
    if (!isKept || faults.staleWakeups > 0) actions.push({ kind: 'stale', wakeup: id, fault: isKept })
  }
  return actions
}

function isHeldBy({ turn }: Slot, store: Store, id: string): boolean {
  return turn?.assignment.worker === id && turn.assignment.token.nonce === store.workers[id]?.nonce
}

/** A free action happens in the end, if nothing else does. Any other action is a fault, a choice of somebody's, or bounded. */
export function isFree(action: Action): boolean {
  switch (action.kind) {
    case 'submit':
    case 'claim':
    case 'enter':
      return action.fate === 'fine'
    case 'commit':
      return action.fate === 'fine' && (action.how === 'step' || action.how === 'end')
    case 'take':
    case 'sendAgain':
    case 'sweep':
    case 'finish':
    case 'fire':
      return true
    case 'expire':
    case 'stale':
      return !action.fault
    case 'renew':
    case 'crash':
    case 'look':
    case 'arrive':
    case 'loseJob':
    case 'doubleJob':
    case 'cancel':
    case 'replicate':
    case 'failOver':
      return false
  }
}

export interface Outcome {
  readonly world: World
  /** What the call itself did wrong. */
  readonly violations: readonly string[]
  /** The call that a script executed, if there was one. */
  readonly executed: { readonly call: Call; readonly answer: Answer } | null
}

/** `seed`: a number that no wake-up has yet. */
export function act(world: World, action: Action, seed: number, rules: Rules): Outcome {
  const acting = new Acting(world, rules)
  acting.act(action, seed)
  return { world: acting.world, violations: acting.violations, executed: acting.executed }
}

/** Redis may have lost that the run of this turn has begun. */
function doubted(turn: Turn | null): Turn | null {
  return turn?.gate === 'in' ? { ...turn, gate: 'lost' } : turn
}

type Mishap = Extract<
  Action,
  { kind: 'expire' | 'stale' | 'loseJob' | 'doubleJob' | 'fire' | 'cancel' | 'finish' | 'replicate' | 'failOver' }
>

class Acting {
  world: World
  violations: readonly string[] = []
  executed: Outcome['executed'] = null
  readonly #rules: Rules

  constructor(world: World, rules: Rules) {
    this.world = world
    this.#rules = rules
  }

  act(action: Action, seed: number): void {
    switch (action.kind) {
      case 'submit':
        this.#fromClient(action.client, callOfClient(this.world, action.client, seed), action.fate)
        break
      case 'take':
        this.#take(action.slot, action.job)
        break
      case 'claim':
        this.#fromSlot(action.slot, { kind: 'claim', ...claiming(this.#slot(action.slot)) }, action.fate)
        break
      case 'enter':
        this.#enter(action)
        break
      case 'commit':
        this.#commit(action, seed)
        break
      case 'sendAgain':
        this.#sendAgain(action.from, action.index)
        break
      case 'sweep':
        this.#sweep(action.slot, seed)
        break
      case 'renew':
        this.#renew(action.slot, seed)
        break
      case 'crash':
        this.#crash(action.slot)
        break
      case 'arrive':
        this.#arrive(action.late)
        break
      case 'look':
        this.#spend('looks')
        this.#set({ sight: sightOf(this.world.store, action.worker, this.#rules) })
        break
      default:
        this.#befall(action, seed)
    }
  }

  #befall(action: Mishap, seed: number): void {
    const { store, jobs, ghost, replica } = this.world
    switch (action.kind) {
      case 'expire':
        if (action.fault) this.#spend('expiries')
        this.#set({ store: letPass(store, { lease: action.worker }) })
        break
      case 'stale':
        if (action.fault) this.#spend('staleWakeups')
        this.#set({ store: letPass(store, { wakeup: action.wakeup }) })
        break
      case 'loseJob':
        this.#spend('lostJobs')
        this.#set({ jobs: jobs.toSpliced(action.job, 1) })
        break
      case 'doubleJob':
        this.#spend('doubledJobs')
        this.#set({ jobs: [...jobs, jobs[action.job] as string] })
        break
      case 'cancel':
        this.#spend('cancels')
        this.#execute({ kind: 'cancel' })
        break
      case 'finish':
        this.#execute({ kind: 'finish' })
        break
      case 'fire':
        this.#wake(wakeupsOf(this.#execute({ kind: 'fire', seed })))
        break
      case 'replicate':
        this.#set({ replica: { store, ghost } })
        break
      case 'failOver':
        if (replica !== null) this.#failOver(replica)
    }
  }

  #failOver({ store, ghost }: { readonly store: Store; readonly ghost: World['ghost'] }): void {
    this.#spend('failOvers')
    const forget = (one: Executed | null) => (one === null ? null : { ...one, answer: null })
    this.#set({
      store,
      ghost: { ...ghost, owesWakeups: true },
      replica: null,
      slots: this.world.slots.map((slot) => ({ ...slot, pending: forget(slot.pending), turn: doubted(slot.turn) })),
      clients: this.world.clients.map((client) => ({ ...client, pending: forget(client.pending) })),
      late: this.world.late.map((one) => ({ ...one, answer: null })),
    })
  }

  #slot(index: number): Slot {
    return this.world.slots[index] as Slot
  }

  #set(changes: Partial<World>): void {
    this.world = { ...this.world, ...changes }
  }

  #setSlot(index: number, slot: Slot): void {
    this.#set({ slots: this.world.slots.with(index, slot) })
  }

  #spend(fault: keyof Faults): void {
    this.#set({ faults: { ...this.world.faults, [fault]: this.world.faults[fault] - 1 } })
  }

  /** The script runs; `earlier` is what the same call was answered before. */
  #execute(call: Call, earlier: Answer | null = null): Answer {
    const { store, answer } = reduce(this.world.store, call, this.#rules)
    const checked = checkCall(this.world, call, answer, store, earlier, this.#rules)
    this.violations = checked.violations
    this.executed = { call, answer }
    this.#set({ store, ghost: checked.ghost })
    return answer
  }

  #wake(wakeups: readonly string[]): void {
    this.#set({ jobs: [...this.world.jobs, ...wakeups] })
  }

  #fromClient(index: number, call: Call, fate: Fate): void {
    const answer = this.#executeWithFate(call, fate)
    const pending = fate === 'lost' ? { call, answer } : null
    this.#set({ clients: this.world.clients.with(index, { state: pending ? 'new' : 'done', pending }) })
    if (fate !== 'lost') this.#wake(wakeupsOf(answer))
  }

  #fromSlot(index: number, call: Call, fate: Fate): void {
    const answer = this.#executeWithFate(call, fate)
    const slot = this.#slot(index)
    this.#setSlot(index, fate === 'lost' ? { ...slot, pending: { call, answer } } : afterAnswer(slot, call, answer))
    if (fate !== 'lost') this.#wake(wakeupsOf(answer))
  }

  #enter({ slot: index, fate }: { readonly slot: number; readonly fate: Fate }): void {
    const { turn } = this.#slot(index)
    if (turn === null) return
    const { worker, token } = turn.assignment
    this.#fromSlot(index, { kind: 'enter', worker, token }, fate)
  }

  #commit({ slot: index, how, fate }: Action & { readonly kind: 'commit' }, seed: number): void {
    const slot = this.#slot(index)
    if (slot.turn === null) return
    if (how === 'leave') this.#spend('leaves')
    if (how === 'abandon') this.#spend('abandons')
    this.#fromSlot(index, commitOf(slot, slot.turn, how, seed), fate)
  }

  #arrive(index: number): void {
    const { call, answer } = this.world.late[index] as Executed
    this.#set({ late: this.world.late.toSpliced(index, 1) })
    this.#execute(call, answer)
  }

  #executeWithFate(call: Call, fate: Fate): Answer {
    const answer = this.#execute(call)
    if (fate === 'lost') this.#spend('lostAnswers')
    if (fate === 'late') {
      this.#spend('lateCalls')
      this.#set({ late: [...this.world.late, { call, answer }] })
    }
    return answer
  }

  #sendAgain(from: 'slot' | 'client', index: number): void {
    const sender = from === 'slot' ? this.#slot(index) : (this.world.clients[index] as Client)
    const { call, answer: earlier } = sender.pending as Executed
    const answer = this.#execute(call, earlier)
    if (from === 'slot') this.#setSlot(index, afterAnswer(this.#slot(index), call, answer))
    else this.#set({ clients: this.world.clients.with(index, { state: 'done', pending: null }) })
    this.#wake(wakeupsOf(answer))
  }

  #take(index: number, job: number): void {
    const wakeup = this.world.jobs[job] as string
    this.#set({ jobs: this.world.jobs.toSpliced(job, 1) })
    this.#setSlot(index, { ...this.#slot(index), wakeup, keepWakeup: true })
  }

  /** The sweeping node itself answers the wake-ups of its sweep. */
  #sweep(index: number, seed: number): void {
    const slot = this.#slot(index)
    const answer = this.#execute({ kind: 'sweep', free: slot.wakeup === '' ? 1 : 0, seed })
    const [wakeup] = wakeupsOf(answer)
    if (wakeup !== undefined) this.#setSlot(index, { ...slot, wakeup, keepWakeup: true })
  }

  #renew(index: number, seed: number): void {
    const slot = this.#slot(index)
    if (slot.turn === null) return
    this.#spend('renews')
    const { worker, token } = slot.turn.assignment
    this.#fromSlot(index, { kind: 'renew', worker, token, wakeup: slot.wakeup, seed }, 'fine')
  }

  #crash(index: number): void {
    this.#spend('crashes')
    const slot = this.#slot(index)
    this.#setSlot(index, { ...sleep(slot), node: `${slot.node}x`, claims: 1 })
    this.#set({ ghost: { ...this.world.ghost, owesWakeups: true } })
  }
}

function wakeupsOf(answer: Answer): readonly string[] {
  return 'wakeups' in answer ? answer.wakeups : []
}
