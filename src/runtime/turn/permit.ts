/**
 * Duty: the one place where the code of a turn asks whether it may go on. Today a cancel, a pause, a drain, a lost lease and the slice
 * of a turn can say no. Whatever else shall hold work back (a budget) says so here.
 * PERMIT-1 No model call, no tool call and no step of a handler begins once the turn ends or its lease is no longer trusted.
 * PERMIT-2 What came of a call is recorded only if the turn was not stopped in the meantime: the next turn decides by the record.
 * PERMIT-3 A turn that ends, drains, is paused, or has had its slice receives nothing more; its worker goes to the end of its run queue.
 * PERMIT-4 A paused turn begins no model call, no tool call and no step of a handler. Those that run finish, and are recorded.
 * PERMIT-5 Once a message has interrupted what a run does, no model call and no tool call begins until the run has received that message.
 * PERMIT-6 A turn of a kind with gates receives no message that would begin a second run: that one asks in a turn of its own.
 */
import { performance } from 'node:perf_hooks'
import type { Turn } from './turn.ts'

/** Asked before each model call and each tool call. Abandons the turn if its lease has run out. */
export function mayCall(turn: Turn): boolean {
  return mayFinishCall(turn) && !turn.pausing.isOn && !turn.steers.interrupts
}

/**
 * Asked before a tool call whose start is recorded, and before a step that was done is recorded. A pause does not stop these: nobody could say later
 * that the one did not happen, and the other did. Redis learns that this turn begins nothing more only behind such a call (`TurnPause.isQuiet`).
 */
export function mayFinishCall(turn: Turn): boolean {
  if (!turn.lease.isTrusted()) turn.abandon('unreachable')
  return turn.isOpen
}

/** Asked after whatever took time. */
export function mayRecord(turn: Turn): boolean {
  return turn.over === undefined && !turn.aborted
}

/** Asked before each message, and before each iteration of an agent; `steps`: those of this turn so far. */
export function mayGoOn(turn: Turn, steps: number, stepsMost: number): boolean {
  if (!turn.isOpen || turn.isDraining || steps >= stepsMost) return false
  if (turn.gate.isThere && turn.position.run > turn.assignment.run && !turn.position.open) return false
  return performance.now() - turn.startedAt <= turn.host.policy.turnSliceMs
}
