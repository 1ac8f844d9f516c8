/**
 * Duty: the calls of one reply that became children or messages: starts them, and gathers what the children report.
 * W1 Children are created in the commit that records the call as delegated; a repeated spawn is the same child.
 * W2 The results of children are recorded as they are taken from the mailbox; a call's result follows when all of its children have
 *    reported.
 */

import { toRuntimeError } from '../../../core/errors.ts'
import type { EventNote } from '../../../core/event/event.ts'
import type { ToolCallBlock, ToolOutput } from '../../../core/history/chat-message.ts'
import type { DelegatedEntry } from '../../../core/history/entry.ts'
import { toJson } from '../../../core/json.ts'
import { encodeInput, type ResultMessage } from '../../../core/worker/message.ts'
import { forResults } from '../../../core/worker/wait.ts'
import { errorOutput } from '../../tool/output.ts'
import type { AgentInbox } from '../agent-inbox.ts'
import type { EntryFacts, Journal } from '../journal.ts'
import type { Pause } from '../scene.ts'
import {
  childrenOutput,
  delegate,
  detachedOutput,
  recipientOf,
  type SendInput,
  type SpawnTask,
  sendToolName,
} from './delegation.ts'

export class DelegatedCalls {
  readonly #journal: Journal
  readonly #folder: () => Promise<string | null>

  /** `folder` tells the worker's own, which its children stay within. */
  constructor(journal: Journal, folder: () => Promise<string | null>) {
    this.#journal = journal
    this.#folder = folder
  }

  /** Starts what the call asks for. */
  async begin(call: ToolCallBlock, input: unknown): Promise<void> {
    try {
      if (call.toolName === sendToolName) await this.#send(call, input as SendInput)
      else await this.#spawn(call, input as readonly SpawnTask[])
    } catch (thrown) {
      this.#refused(call, toRuntimeError(thrown))
    }
  }

  async #spawn(call: ToolCallBlock, tasks: readonly SpawnTask[]): Promise<void> {
    const { turn, container, position } = this.#journal
    const { grant, host } = turn
    const poolOf = (kind: string) => host.poolOf(kind)
    const folder = await this.#folder()
    const { orders, notes } = delegate(tasks, grant, position.run, position.calls, container.facts, folder, poolOf)
    const joining = orders.flatMap(({ detached, call: number }) => (detached ? [] : [number]))
    const entries: EntryFacts[] = [{ type: 'delegated', toolCallId: call.toolCallId, spawned: notes }]
    if (joining.length === 0) entries.push(this.#result(call, detachedOutput(notes), 1))
    const spawned = notes.map(
      ({ id, kind, name, detached }): EventNote => [
        'worker.spawned',
        { id, kind, name, parent: grant.workerId, ...(detached && { detached }) },
      ],
    )
    const declined = await this.#journal.propose(entries, {
      spawns: orders,
      position: { calls: position.calls + orders.length, awaits: [...position.awaits, ...joining] },
      notes: spawned,
    })
    if (declined) this.#refused(call, declined)
  }

  async #send(call: ToolCallBlock, { to, text }: SendInput): Promise<void> {
    const { grant } = this.#journal.turn
    const workerId = recipientOf(to, grant)
    const mail = encodeInput(grant.workerId, toJson(text, `the message to ${workerId}`))
    const declined = await this.#journal.propose(
      [this.#result(call, { type: 'text', value: `Sent to ${workerId}.` })],
      {
        sends: [{ workerId, mail }],
      },
    )
    if (declined) this.#refused(call, declined)
  }

  #refused(call: ToolCallBlock, error: Error): void {
    this.#journal.add([{ ...this.#result(call, errorOutput(error.message)), status: 'error' }])
  }

  #result({ toolCallId, toolName }: ToolCallBlock, output: ToolOutput, ahead = 0): EntryFacts {
    return { type: 'toolResult', id: this.#journal.nextId(ahead), toolCallId, toolName, status: 'ok', output }
  }

  /** Takes what children have reported; what to wait for while some have not, or null. */
  gather(inbox: AgentInbox): Pause | null {
    const { container, position, turn } = this.#journal
    const { delegated, childResults } = container.pending
    const waiting = container.pending.calls.filter(({ toolCallId }) => delegated.has(toolCallId))
    if (waiting.length === 0) return null
    const taken = inbox.takeResults()
    const fresh = taken.filter(({ result }) => position.awaits.includes(result.call))
    for (const { result } of taken) {
      if (!position.awaits.includes(result.call))
        this.#journal.noteIgnored(`a result of worker ${result.from} that nothing awaits`)
    }
    const all = new Map<number, ResultMessage>(childResults)
    for (const { result } of fresh) all.set(result.call, result)
    const entries: EntryFacts[] = fresh.map(({ result }) => ({ type: 'received', message: result }))
    const { toolOutputBytesMax } = turn.host.policy
    for (const call of waiting) {
      const notes = delegated.get(call.toolCallId) as DelegatedEntry['spawned']
      if (notes.some(({ call: number, detached }) => !detached && !all.has(number))) continue
      entries.push(this.#result(call, childrenOutput(notes, all, toolOutputBytesMax), entries.length))
    }
    const awaits = position.awaits.filter((call) => !all.has(call))
    if (taken.length > 0) {
      this.#journal.add(entries, {
        familyUsed: taken.map(({ sequence }) => sequence),
        position: { awaits },
        notes: fresh.map(({ result }): EventNote => ['message.consumed', { kind: 'result', from: result.from }]),
      })
    }
    return awaits.length === 0 ? null : { for: forResults(inbox.familyTaken + awaits.length) }
  }
}
