/**
 * Duty: carry out the calls of one reply that start children or send messages, and collect what the children report.
 * Does not own: the form of these two tools (delegation.ts), what a model reads of the results (children-output.ts).
 * DELEGATED-1 Children are created by the commit that records their call as delegated. If the spawn is repeated, it names the same children.
 * DELEGATED-2 The result of a child is recorded when it is taken from the mailbox. The result of the call follows when all of its
 *             children have reported.
 */

import { checkSpawn } from '../../../../core/definition/child-limits.ts'
import type { AgentDefinition } from '../../../../core/definition/define-worker.ts'
import { toRuntimeError } from '../../../../core/errors.ts'
import type { EventNote } from '../../../../core/event/event.ts'
import type { ToolCallBlock, ToolOutput, ToolStatus } from '../../../../core/history/chat/chat-message.ts'
import type { DelegatedEntry, Entry } from '../../../../core/history/entry.ts'
import { toJson } from '../../../../core/json.ts'
import { receiveResult } from '../../../../core/worker/child-result.ts'
import { encodeLimitedInput, type ResultMessage } from '../../../../core/worker/message/message.ts'
import { encodePermissions, reachOf, type SendReach } from '../../../../core/worker/permissions.ts'
import { forResults } from '../../../../core/worker/wait.ts'
import { errorOutput } from '../../../tool/output.ts'
import type { AgentInbox } from '../../agent-inbox.ts'
import type { Pause } from '../../agent-turn.ts'
import type { Journal } from '../../journal.ts'
import { editedOutput } from '../person/approval-words.ts'
import { checkTaskNames, listTasks } from './background.ts'
import { childrenOutput, detachedOutput } from './children-output.ts'
import { delegate, listToolName, recipientOf, type SendInput, type SpawnTask, sendToolName } from './delegation.ts'

/** What a model writes may have been put into its mouth by a text that it read, so it does not leave its session unless permissions say so. */
const agentReach: SendReach = 'session'

export class DelegatedCalls {
  readonly #kind: Pick<AgentDefinition, 'limits' | 'childrenAtOnce' | 'background'>
  readonly #journal: Journal
  readonly #folder: () => Promise<string | null>

  /** `folder` finds the worker's own folder. Its children must stay within that folder. */
  constructor(
    kind: Pick<AgentDefinition, 'limits' | 'childrenAtOnce' | 'background'>,
    journal: Journal,
    folder: () => Promise<string | null>,
  ) {
    this.#kind = kind
    this.#journal = journal
    this.#folder = folder
  }

  /** Starts the children of the call, or sends its message. */
  async begin(call: ToolCallBlock, input: unknown): Promise<void> {
    try {
      if (call.toolName === listToolName) this.#journal.add([this.#result(call, await listTasks(this.#journal))])
      else if (call.toolName === sendToolName) await this.#send(call, input as SendInput)
      else await this.#spawn(call, input as readonly SpawnTask[])
    } catch (thrown) {
      this.#refused(call, toRuntimeError(thrown))
    }
  }

  async #spawn(call: ToolCallBlock, tasks: readonly SpawnTask[]): Promise<void> {
    const { turn, container, position } = this.#journal
    const { assignment, host } = turn
    if (this.#kind.background) await checkTaskNames(this.#journal, tasks)
    const poolOf = (kind: string) => host.poolOf(kind)
    const folder = await this.#folder()
    const { orders, notes } = delegate(tasks, assignment, position.run, position.calls, container.facts, folder, poolOf)
    const awaited = orders.flatMap(({ detached, call: number }) => (detached ? [] : [number]))
    checkSpawn(this.#kind, assignment, awaited.length > 0 ? position.pendingCalls.length + awaited.length : null)
    const entries = [this.#journal.entry('delegated', { toolCallId: call.toolCallId, spawned: notes })]
    if (awaited.length === 0) entries.push(this.#result(call, detachedOutput(notes), 1))
    const spawned = notes.map(
      ({ id, kind, name, detached }): EventNote => [
        'worker.spawned',
        { id, kind, name, parent: assignment.workerId, ...(detached && { detached }) },
      ],
    )
    const refusal = await this.#journal.propose(entries, {
      spawns: orders,
      childrenAtOnce: awaited.length > 0 ? this.#kind.childrenAtOnce : undefined,
      position: { calls: position.calls + orders.length, pendingCalls: [...position.pendingCalls, ...awaited] },
      notes: spawned,
    })
    if (refusal) this.#refused(call, refusal)
  }

  async #send(call: ToolCallBlock, { to, text }: SendInput): Promise<void> {
    const { assignment } = this.#journal.turn
    const workerId = recipientOf(to, assignment)
    const { permissions } = assignment
    const json = toJson(text, `the message to ${workerId}`)
    const mail = encodeLimitedInput(assignment.workerId, encodePermissions(permissions), json)
    // A dry run changes nothing outside, whatever its permissions say.
    const isWithin = permissions.send === undefined || assignment.isDryRun
    const reach = isWithin ? agentReach : reachOf(permissions)
    const output: ToolOutput = { type: 'text', value: `Sent to ${workerId}.` }
    const result = this.#journal.entry('toolResult', { ...this.#parts(call, output), sent: [workerId] })
    const refusal = await this.#journal.propose([result], { sends: [{ workerId, mail, reach }] })
    if (refusal) this.#refused(call, refusal)
  }

  #refused(call: ToolCallBlock, error: Error): void {
    this.#journal.add([this.#result(call, errorOutput(error.message), 0, 'error')])
  }

  /** `ahead`: how many entries come before it in the same step. */
  #result(call: ToolCallBlock, output: ToolOutput, ahead = 0, status: ToolStatus = 'ok'): Entry {
    return this.#journal.entry('toolResult', this.#parts(call, output, ahead, status))
  }

  #parts({ toolCallId, toolName }: ToolCallBlock, output: ToolOutput, ahead = 0, status: ToolStatus = 'ok') {
    const { approvals } = this.#journal.container.pending
    return {
      id: this.#journal.nextId(ahead),
      toolCallId,
      toolName,
      status,
      output: editedOutput(approvals.get(toolCallId), output),
    }
  }

  /**
   * Takes the results that children have reported. Returns what the worker waits for if some have not reported, otherwise null. The children of a call
   * that a message interrupted report too, though no call waits for them: until then they count towards the limit of children.
   */
  collectResults(inbox: AgentInbox): Pause | null {
    const { container, position, turn } = this.#journal
    if (position.pendingCalls.length === 0) return null
    const { delegated, childResults } = container.pending
    const waiting = container.pending.calls.filter(({ toolCallId }) => delegated.has(toolCallId))
    const taken = inbox.takeResults()
    let { pendingCalls } = position
    const fresh: ResultMessage[] = []
    for (const { result } of taken) {
      const verdict = receiveResult(pendingCalls, result)
      switch (verdict.kind) {
        case 'report':
          pendingCalls = verdict.pendingCalls
          fresh.push(result)
          break
        case 'ignore':
          this.#journal.noteIgnored(`a result of worker ${result.from} for which nothing waits`)
      }
    }
    const all = new Map<number, ResultMessage>(childResults)
    for (const result of fresh) all.set(result.call, result)
    const entries = fresh.map((message) => this.#journal.entry('received', { message }))
    const { toolOutputBytesMax } = turn.host.policy
    for (const call of waiting) {
      const notes = delegated.get(call.toolCallId) as DelegatedEntry['spawned']
      if (notes.some(({ call: number, detached }) => !detached && !all.has(number))) continue
      entries.push(this.#result(call, childrenOutput(notes, all, toolOutputBytesMax), entries.length))
    }
    if (taken.length > 0) {
      this.#journal.add(entries, {
        resultsConsumed: taken.map(({ position }) => position),
        position: { pendingCalls },
        notes: fresh.map(({ from }): EventNote => ['message.consumed', { kind: 'result', from }]),
      })
    }
    return pendingCalls.length === 0 || waiting.length === 0
      ? null
      : { for: forResults(inbox.resultsTaken + pendingCalls.length) }
  }
}
