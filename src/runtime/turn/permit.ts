/**
 * Duty: say whether the code of a turn may go on: a cancel, a pause, a drain, a lost lease and the slice of the turn can say no. A new reason to
 * hold work back belongs here, too. Does not own: which steps a pause holds back (handler/handler-steps.ts), and whether a slot claims (slot/).
 * PERMIT-1 No model call, no tool call and no step of a handler begins once the turn ends or its lease is no longer trusted.
 * PERMIT-2 The outcome of a call is recorded only if the turn was not stopped in the meantime: the next turn decides by the record.
 * PERMIT-3 A turn that ends, drains, is paused, or has had its slice receives nothing more. A worker that could go on returns to its run queue.
 * PERMIT-4 A paused turn begins no model call, no tool call and no step of a handler. Calls and steps that run finish, and are recorded. A step
 *    that a running step begins is part of it (HANDLER-STEPS-4).
 * PERMIT-5 Once a message has interrupted what a run does, no model call and no tool call begins until the run has received that message.
 *    Between runs it interrupts nothing: orders that stand before it are carried out.
 * PERMIT-6 A turn that drains begins no model call and no tool call either: its node would cut them off when its drain time is over. Calls that run finish.
 * PERMIT-7 A turn of a kind with gates receives no message that would begin a second run: that run asks its gates in a turn of its own.
 */
import { performance } from 'node:perf_hooks'
import type { Turn } from './turn.ts'

/** May a model call or a tool call begin? Asked before each of them. Abandons the turn if its lease has run out. */
export function mayCall(turn: Turn): boolean {
  // A paused turn drains, too.
  return mayFinish(turn) && !turn.isDraining && !(turn.position.open && turn.steers.interrupts)
}

/**
 * May the turn finish what cannot stay half done: make a call whose start is recorded, or record a step that was done? Asked before each of them. A
 * pause or a drain does not stop these: nobody could say later that the call was not made, or that the step was done. The node tells Redis that this
 * turn begins nothing more only after such a call has begun (`TurnPause.isQuiet`).
 */
export function mayFinish(turn: Turn): boolean {
  if (!turn.lease.isTrusted()) turn.abandon('unreachable')
  return turn.isOpen
}

/** May the turn record what took time? Asked when it is done. */
export function mayRecord(turn: Turn): boolean {
  return turn.over === undefined && !turn.aborted
}

/** May the turn receive one more message, or begin one more iteration of an agent? `steps`: how many steps this turn has made. */
export function mayGoOn(turn: Turn, steps: number, stepsMost: number): boolean {
  if (!turn.isOpen || turn.isDraining || steps >= stepsMost) return false
  if (turn.gate.hasGates && turn.position.run > turn.assignment.run && !turn.position.open) return false
  return performance.now() - turn.startedAt <= turn.host.policy.turnSliceMs
}
