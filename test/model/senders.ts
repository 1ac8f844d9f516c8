/**
 * What clients and nodes send, and what they do with an answer. Their program: message 1 creates the session, message 2 goes to its
 * root, message 3 to the child. The root's first run spawns the child and waits for its result; every other run ends at once. In the program
 * `asks` the root's first run asks twice and ends with the first answer, or when the first ask expires; messages 3 and 4 answer that ask. In the
 * program `gates` every run asks the gate of its kind before it begins, and the root's first run spawns two detached children and ends.
 */
import type { Answer, Assigned, Call, Claiming, CommitCall } from './calls.ts'
import { childIdOf, firstAsk, rootId, secondAsk } from './records.ts'
import type { Slot, Turn, World } from './world.ts'

export const childId = childIdOf(rootId, 1, 1)
export const secondChildId = childIdOf(rootId, 1, 2)

const taskOf = (id: string, call: number, detached: boolean) => ({ id, call, mail: `task${call}`, detached })

export function callOfClient(world: World, client: number, seed: number): Call {
  const mail = `m${client + 1}`
  if (client === 0) return { kind: 'spawn', mode: world.mode, mail, seed }
  if (client >= 2 && world.program === 'asks') return { kind: 'answer', ask: firstAsk, key: mail, value: mail, seed }
  return { kind: 'post', worker: client === 1 ? rootId : childId, mail, key: mail, seed }
}

export function claiming(slot: Slot, leaves = false): Claiming {
  return {
    node: slot.node,
    nonce: leaves ? '' : `${slot.claims}.${slot.node}`,
    wakeup: slot.wakeup,
    maySuspect: true,
    wasBusy: slot.isBusy,
    keepWakeup: slot.keepWakeup || slot.isBusy,
  }
}

interface Step {
  readonly entries: readonly string[]
  readonly outcome: CommitCall['outcome']
  readonly inputsConsumed?: number
  readonly resultsConsumed?: readonly number[]
  readonly signalsConsumed?: number
  readonly spawns?: CommitCall['spawns']
  readonly asks?: CommitCall['asks']
  readonly dead?: boolean
}

/** The step that the turn records next; nothing when it has received all that it was given. */
function nextStep(turn: Turn): Step {
  const { assignment, cancelled, open, run, inputsConsumed, resultsConsumed, signalsConsumed } = turn
  if (cancelled || assignment.purpose === 'cancelled') return { entries: ['cancelled'], outcome: 'cancelled' }
  if (assignment.purpose === 'poison')
    return open
      ? { entries: ['failed'], outcome: 'failed' }
      : { entries: ['failed'], outcome: 'failed', inputsConsumed: 1, dead: true }
  if (open) {
    const signal = assignment.signals[signalsConsumed]
    if (signal !== undefined) return { entries: [signal, 'completed'], outcome: 'completed', signalsConsumed: 1 }
    const place = resultsConsumed ? -1 : assignment.results.findIndex((text) => text !== '')
    if (place < 0) return { entries: [], outcome: '' }
    const entries = [assignment.results[place] as string, 'completed']
    return { entries, outcome: 'completed', resultsConsumed: [assignment.resultsTaken + place] }
  }
  const input = assignment.inbox[inputsConsumed]
  if (input === undefined || (assignment.open && !open) || turn.gate === 'left') return { entries: [], outcome: '' }
  if (assignment.worker === rootId && run === 1 && turn.program === 'asks')
    return {
      entries: [`got:${input}`],
      outcome: '',
      inputsConsumed: 1,
      asks: [
        { id: firstAsk, expires: true },
        { id: secondAsk, expires: false },
      ],
    }
  if (assignment.worker === rootId && run === 1 && turn.program === 'gates')
    return {
      entries: [`got:${input}`, 'completed'],
      outcome: 'completed',
      inputsConsumed: 1,
      spawns: [taskOf(childId, 1, true), taskOf(secondChildId, 2, true)],
    }
  if (assignment.worker === rootId && run === 1)
    return {
      entries: [`got:${input}`],
      outcome: '',
      inputsConsumed: 1,
      spawns: [taskOf(childId, 1, false)],
    }
  return { entries: [`got:${input}`, 'completed'], outcome: 'completed', inputsConsumed: 1 }
}

export function commitOf(slot: Slot, turn: Turn, how: 'step' | 'end' | 'leave' | 'abandon', seed: number): CommitCall {
  const step = nextStep(turn)
  const outcome = how === 'abandon' ? 'completed' : step.outcome
  const { spawns = [], asks = [], signalsConsumed = 0 } = step
  const runEnds = outcome !== ''
  const open = !runEnds && (turn.open || spawns.length + asks.length > 0)
  const signalsOpen = open ? turn.signalsOpen - signalsConsumed + asks.length : 0
  const rest = signalsOpen > 0 ? 'signals' : `result:${childId}`
  const awaited = spawns.filter(({ detached }) => !detached).length
  const pendingCalls = open ? (awaited > 0 ? [1] : turn.pendingCalls) : []
  const left = turn.pendingCalls.length - (step.resultsConsumed?.length ?? 0) + awaited
  return {
    kind: 'commit',
    worker: turn.assignment.worker,
    token: turn.assignment.token,
    sequence: turn.sequence,
    version: turn.version,
    open,
    pendingCalls,
    pendingCount: left,
    entries: how === 'abandon' ? [...step.entries, 'completed'] : step.entries,
    inputsConsumed: step.inputsConsumed ?? 0,
    signalsConsumed,
    signalsOpen,
    asks,
    resultsConsumed: step.resultsConsumed ?? [],
    resultsSeen: turn.assignment.resultsTaken + turn.assignment.results.length,
    outcome,
    result: runEnds && isAwaited(turn) && turn.run === 1 ? `result:${childId}` : '',
    dead: step.dead ?? false,
    spawns,
    wait: how === 'step' ? '' : open ? rest : 'any',
    next: claiming(slot, how === 'leave'),
    seed,
  }
}

const isAwaited = ({ assignment, program }: Turn) => assignment.worker === childId && program !== 'gates'

/** Must the gate of the kind let the run in before anything else happens? */
export function mustEnter({ gate, cancelled }: Turn): boolean {
  return gate === 'ask' && !cancelled
}

/** Is there something to record but the end of the turn? */
export function hasStep(turn: Turn): boolean {
  return nextStep(turn).entries.length > 0
}

/** May this run end now without its child's result? */
export function canAbandon(turn: Turn): boolean {
  const step = nextStep(turn)
  if (turn.cancelled || turn.assignment.purpose !== 'run' || step.outcome !== '') return false
  return turn.open || step.spawns !== undefined || step.asks !== undefined
}

const asleep = { wakeup: '', isBusy: false, keepWakeup: false, turn: null, pending: null }

export function sleep(slot: Slot): Slot {
  return { ...slot, ...asleep }
}

/** The slot after a claim's answer, or the claim of an ending commit. */
function afterClaim(slot: Slot, claimed: Answer): Slot {
  const next = { ...slot, claims: slot.claims + 1, isBusy: false, keepWakeup: false, turn: null, pending: null }
  if (claimed.kind !== 'assigned') return sleep(next)
  const { version, run, open, pendingCalls, signalsOpen } = claimed
  const turn: Turn = {
    assignment: claimed,
    sequence: 1,
    version,
    run,
    open,
    pendingCalls,
    inputsConsumed: 0,
    resultsConsumed: false,
    signalsConsumed: 0,
    signalsOpen,
    cancelled: false,
    gate: gateOf(slot, claimed),
    program: slot.program,
  }
  return { ...next, turn }
}

function gateOf({ program }: Slot, { purpose, gates, inbox }: Assigned): Turn['gate'] {
  if (program !== 'gates' || purpose !== 'run') return 'none'
  if (gates === 'in') return 'in'
  return inbox.length > 0 ? 'ask' : 'none'
}

/** A turn that is over without its end: the slot claims anew. */
function claimAgain(slot: Slot): Slot {
  return { ...slot, claims: slot.claims + 1, turn: null, pending: null }
}

function afterCommit(slot: Slot, turn: Turn, call: CommitCall, answer: Answer): Slot {
  switch (answer.kind) {
    case 'committed':
      if (call.wait !== '') return call.next.nonce === '' ? sleep(slot) : afterClaim(slot, answer.claimed)
      return {
        ...slot,
        pending: null,
        turn: {
          ...turn,
          sequence: turn.sequence + 1,
          version: answer.version,
          run: turn.run + (call.outcome === '' ? 0 : 1),
          open: call.open,
          pendingCalls: call.pendingCalls,
          inputsConsumed: turn.inputsConsumed + call.inputsConsumed,
          signalsConsumed: turn.signalsConsumed + call.signalsConsumed,
          signalsOpen: call.signalsOpen,
          resultsConsumed: turn.resultsConsumed || call.resultsConsumed.length > 0,
          gate: turn.gate !== 'none' && call.outcome !== '' ? 'left' : turn.gate,
        },
      }
    case 'fenced':
      return answer.claimed.kind === 'none' ? claimAgain(slot) : afterClaim(slot, answer.claimed)
    case 'cancelled':
      return { ...slot, pending: null, turn: { ...turn, sequence: turn.sequence + 1, cancelled: true } }
    default:
      return claimAgain(slot)
  }
}

/** A run that must wait is not of this turn any more. */
function afterEnter(slot: Slot, turn: Turn, answer: Answer): Slot {
  if (answer.kind === 'in') return { ...slot, pending: null, turn: { ...turn, gate: 'in' } }
  return answer.kind === 'cancelled' ? { ...slot, pending: null, turn: { ...turn, cancelled: true } } : claimAgain(slot)
}

export function afterAnswer(slot: Slot, call: Call, answer: Answer): Slot {
  if (call.kind === 'claim') return afterClaim(slot, answer)
  if (slot.turn === null) return slot
  if (call.kind === 'commit') return afterCommit(slot, slot.turn, call, answer)
  if (call.kind === 'enter') return afterEnter(slot, slot.turn, answer)
  if (call.kind !== 'renew' || answer.kind !== 'verdict') return slot
  if (answer.verdict === 'fenced') return claimAgain(slot)
  return {
    ...slot,
    isBusy: true,
    turn: { ...slot.turn, cancelled: slot.turn.cancelled || answer.verdict === 'cancelled' },
  }
}
