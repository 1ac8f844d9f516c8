/**
 * Duty: hold back the calls of one reply until each that needs an approval has one, and refuse them if a person denies one.
 * Does not own: which calls need an approval (core/worker/ask/approval.ts), what is asked and answered (core/worker/ask/approval-ask.ts), taking the
 * answers (asked-calls.ts), the words for a model (approval-words.ts).
 * APPROVALS-1 No call of a reply begins until all that need an approval are decided. All are asked about at once.
 * APPROVALS-2 An approved call runs only if it has the hash that was approved. Otherwise a person is asked again.
 * APPROVALS-3 When a call is denied, the commit that records the results withdraws what was asked about the others. It is refused if one of them
 *             was answered in the meantime; then the worker takes that answer first.
 */
import type { ApprovalContext } from '../../../../core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../core/errors.ts'
import type { ToolCallBlock } from '../../../../core/history/chat/chat-message.ts'
import type { AskNote } from '../../../../core/history/entry.ts'
import type { CallApproval } from '../../../../core/history/run/call-approvals.ts'
import { asDecided } from '../../../../core/history/run/call-decision.ts'
import { askId } from '../../../../core/ids.ts'
import type { AskOrder } from '../../../../core/ports/ports.ts'
import { type ApprovalDetails, approvalBody } from '../../../../core/worker/ask/approval-ask.ts'
import { approvalHash } from '../../../../core/worker/ask/approval-hash.ts'
import { encodeAnswer, encodeAskBody } from '../../../../core/worker/ask/ask.ts'
import type { SessionApproval } from '../../../../core/worker/ask/session-approval.ts'
import type { RunMachine } from '../../../../core/worker/run/lifecycle.ts'
import { forSignal } from '../../../../core/worker/wait.ts'
import { readArguments } from '../../../tool/arguments.ts'
import type { AgentTurn, Pause } from '../../agent-turn.ts'
import type { CheckedCall } from '../../iteration.ts'
import type { Journal } from '../../journal.ts'
import type { AgentTools } from '../agent-tools.ts'
import { changedText, deniedText, neededText, siblingText } from './approval-words.ts'

/** pass: these calls may run. pause: the turn ends. done: what follows is recorded. */
export type ApprovalsEnd =
  | { readonly kind: 'pass'; readonly calls: readonly CheckedCall[] }
  | { readonly kind: 'pause'; readonly pause: Pause }
  | { readonly kind: 'done' }

/** free: the call may run. released: it needs no approval any more. */
type Standing =
  | { readonly kind: 'free' | 'waits' | 'released' }
  | { readonly kind: 'ask'; readonly why: string; readonly eachTime: boolean; readonly again?: string }
  | { readonly kind: 'denied'; readonly text: string; readonly failsRun: boolean }

interface StandingCall {
  readonly one: CheckedCall
  readonly approval: CallApproval | undefined
  readonly standing: Standing
}

const done: ApprovalsEnd = { kind: 'done' }
const waitForDecisions: ApprovalsEnd = { kind: 'pause', pause: { for: forSignal } }

/** The call with the arguments that a person wrote, if they approved it so. */
export function asApproved(call: ToolCallBlock, approval: CallApproval | undefined): ToolCallBlock {
  if (approval?.status !== 'approved' || approval.arguments === undefined) return call
  const { inputText: _written, ...rest } = call
  return { ...rest, input: approval.arguments }
}

/**
 * What authors' functions that decide about a call can read. Most calls need none of this. This is a class, because V8 makes a shape of its own for
 * each object literal with getters.
 */
export class CallApprovalContext implements ApprovalContext {
  readonly workerId: string
  readonly sessionId: string
  readonly depth: number
  readonly toolCallId: string
  readonly #journal: Journal

  constructor(journal: Journal, toolCallId: string) {
    const { workerId, sessionId, depth } = journal.turn.assignment
    this.workerId = workerId
    this.sessionId = sessionId
    this.depth = depth
    this.toolCallId = toolCallId
    this.#journal = journal
  }

  get log(): ApprovalContext['log'] {
    return this.#journal.log
  }

  get limits(): ApprovalContext['limits'] {
    const { assignment, session } = this.#journal.turn
    return { ...assignment.limits, ...session.spending.allowed }
  }

  get input(): ApprovalContext['input'] {
    return this.#journal.container.input
  }

  get facts(): ApprovalContext['facts'] {
    return this.#journal.container.facts
  }
}

/** `calls`: the calls that have no result and wait for nothing. They have the arguments that were approved. */
export async function passApprovals(
  agentTurn: AgentTurn,
  tools: AgentTools,
  calls: readonly CheckedCall[],
): Promise<ApprovalsEnd> {
  const { container, machine } = agentTurn.journal
  const { approvals, started } = container.pending
  if (approvals.size === 0 && calls.every(runsFreely)) return pass(machine, calls)
  const approvalOf = ({ call }: CheckedCall) => approvals.get(call.toolCallId)
  const all = calls
    .filter(({ call }) => !started.has(call.toolCallId))
    .map((one): StandingCall => {
      const approval = approvalOf(one)
      return { one, approval, standing: standingOf(agentTurn, tools, one, approval) }
    })
  const fails = all.find(({ standing }) => standing.kind === 'denied' && standing.failsRun)
  if (fails) return failRun(agentTurn, fails.one.call)
  const denied = all.filter(({ standing }) => standing.kind === 'denied')
  if (denied.length > 0) {
    const runsOthers = agentTurn.kind.definition.approval?.onDeny === 'others'
    return refuse(agentTurn, runsOthers ? denied : all)
  }
  const released = all.filter(({ standing }) => standing.kind === 'released')
  if (released.length > 0 && !(await release(agentTurn, released))) return waitForDecisions
  const asks = all.filter(({ standing }) => standing.kind === 'ask')
  if (asks.length > 0) openAsks(agentTurn, tools, asks)
  if (asks.length > 0 || all.some(({ standing }) => standing.kind === 'waits')) return waitForDecisions
  // LOCAL-2 of local-calls.ts: a call that was started, and is not the one that was approved, is not run again.
  const changed = (one: CheckedCall) =>
    started.has(one.call.toolCallId) && !isAsApproved(agentTurn, tools, one.call, approvalOf(one))
  const passed = calls.map(
    (one): CheckedCall => (changed(one) ? { kind: 'invalid', call: one.call, text: changedText } : one),
  )
  return pass(machine, passed)
}

/** A call that needed an approval may need none any more, before anybody was asked. */
function pass(machine: RunMachine, calls: readonly CheckedCall[]): ApprovalsEnd {
  if (machine.state === 'AwaitingToolApproval') machine.apply('approved')
  return { kind: 'pass', calls }
}

function runsFreely(one: CheckedCall): boolean {
  return one.kind === 'invalid' || one.verdict.do === 'run'
}

function standingOf(
  agentTurn: AgentTurn,
  tools: AgentTools,
  one: CheckedCall,
  approval: CallApproval | undefined,
): Standing {
  if (approval?.status === 'denied') {
    return { kind: 'denied', text: deniedText(approval), failsRun: approval.expired === 'fail' }
  }
  if (one.kind === 'invalid') {
    if (approval?.status === 'pending') return { kind: 'released' }
    const isEdited = approval?.status === 'approved' && approval.arguments !== undefined
    return isEdited
      ? { kind: 'ask', why: 'a person changed the arguments', eachTime: true, again: one.text }
      : { kind: 'free' }
  }
  if (approval?.status === 'approved') {
    return isAsApproved(agentTurn, tools, one.call, approval)
      ? { kind: 'free' }
      : {
          kind: 'ask',
          ...(one.verdict.do === 'ask' ? one.verdict : { why: 'a person was asked before', eachTime: true }),
          again: changedText,
        }
  }
  if (one.verdict.do === 'run') return { kind: approval === undefined ? 'free' : 'released' }
  if (approval !== undefined) return { kind: 'waits' }
  const { whenNobodyAnswers, approvalMs } = agentTurn.turn.session.approval
  if (whenNobodyAnswers === 'wait' || approvalMs !== null)
    return { kind: 'ask', why: one.verdict.why, eachTime: one.verdict.eachTime }
  return { kind: 'denied', text: neededText, failsRun: whenNobodyAnswers === 'fail' }
}

/** True if the call was not approved by a person, or is what they approved. */
function isAsApproved(
  { turn }: AgentTurn,
  tools: AgentTools,
  call: ToolCallBlock,
  approval: CallApproval | undefined,
): boolean {
  if (approval?.status !== 'approved' || approval.isReleased) return true
  const read = readArguments(tools.plain(call))
  const { toolName: tool, toolCallId } = call
  const { workerId } = turn.assignment
  if (!read.ok) return false
  return (
    approval.hash ===
    approvalHash({ tool, schemaHash: tools.schemaHash(call), workerId, toolCallId, arguments: read.value })
  )
}

function openAsks(agentTurn: AgentTurn, tools: AgentTools, asks: readonly StandingCall[]): void {
  const { journal } = agentTurn
  const { calls, decided } = journal.container.pending
  const written = new Map(calls.map((call) => [call.toolCallId, asDecided(call, decided.get(call.toolCallId))]))
  const opened = asks.map((asked) => {
    // The call as the model wrote it and code of the kind decided, even if a person has changed it.
    const call = tools.plain(written.get(asked.one.call.toolCallId) ?? asked.one.call)
    return { call, ...askAbout(agentTurn, tools, call, asked) }
  })
  toApproval(agentTurn)
  journal.add(
    opened.map(({ call: { toolCallId }, note }) => journal.entry('asked', { toolCallId, asks: [note] })),
    {
      asks: opened.map(({ order }) => order),
      position: { signalsOpen: journal.position.signalsOpen + opened.length },
      notes: opened.map(({ note }) => ['ask.opened', note] as const),
    },
  )
}

function askAbout(
  { journal, turn }: AgentTurn,
  tools: AgentTools,
  call: ToolCallBlock,
  { approval, standing }: StandingCall,
): { readonly order: AskOrder; readonly note: AskNote } {
  const { workerId } = turn.assignment
  const { approvalMs } = turn.session.approval
  const { toolCallId, toolName: tool } = call
  const read = readArguments(call)
  const args = read.ok ? read.value : (call.inputText ?? null)
  const schemaHash = tools.schemaHash(call)
  const hash = approvalHash({ tool, schemaHash, workerId, toolCallId, arguments: args })
  const { why, eachTime, again } = standing as Standing & { kind: 'ask' }
  const shown = { tool, toolCallId, arguments: args, schemaHash, hash, why }
  const details = { ...shown, ...(eachTime && { eachTime }), ...(again !== undefined && { again }) }
  const body = approvalBody(details as ApprovalDetails, tools.inputSchema(call))
  const retries = journal.container.run.retries
  const id = askId(workerId, journal.position.run, `${toolCallId}:approval:${retries}`, (approval?.asks ?? 0) + 1)
  const expiry = approvalMs === null ? undefined : { ms: approvalMs, answer: expiredAnswer(turn.session.approval) }
  return {
    order: { id, sort: 'approval', body: encodeAskBody(body), ...(expiry && { expiry }) },
    note: { id, sort: 'approval', question: body.question, ...(expiry && { expiresMs: expiry.ms }) },
  }
}

/** What the worker receives if nobody answers in time: CallApprovals reads from the value whether its run fails. */
function expiredAnswer({ whenNobodyAnswers }: SessionApproval): string {
  return encodeAnswer(JSON.stringify(whenNobodyAnswers), { status: 'expired', by: null, reason: null })
}

/** Records that these calls did not run. */
async function refuse(agentTurn: AgentTurn, refused: readonly StandingCall[]): Promise<ApprovalsEnd> {
  const { journal, turn } = agentTurn
  const { position, container, machine } = journal
  const results = refused.map(({ one, approval, standing }, index) => {
    const { toolCallId, toolName } = one.call
    const status = standing.kind === 'denied' ? 'denied' : (approval?.status ?? 'pending')
    const text = standing.kind === 'denied' ? standing.text : one.kind === 'invalid' ? one.text : siblingText(status)
    const output = { type: 'error-text', value: text } as const
    const more = approval === undefined && standing.kind !== 'denied' ? {} : { approval: status }
    return journal.entry('toolResult', {
      id: journal.nextId(index),
      toolCallId,
      toolName,
      status: 'error',
      output,
      ...more,
    })
  })
  const withdraws = refused.flatMap(({ approval }) =>
    approval?.status === 'pending' && approval.askId !== null ? [approval.askId] : [],
  )
  const isLast = container.history.openCount === refused.length
  const runState = isLast ? 'GeneratingResponse' : 'AwaitingToolApproval'
  const parts = {
    withdraws,
    position: { runState, signalsOpen: Math.max(0, position.signalsOpen - withdraws.length) },
  } as const
  toApproval(agentTurn)
  if (withdraws.length === 0) journal.add(results, parts)
  else {
    await turn.settled()
    if (agentTurn.isOver) return done
    if ((await journal.propose(results, parts)) !== null) return agentTurn.isOver ? done : waitForDecisions
  }
  if (isLast) machine.apply('denied')
  return done
}

/** Records that these asks need no answer any more. Returns false if one of them was answered in the meantime. */
async function release({ journal, turn }: AgentTurn, released: readonly StandingCall[]): Promise<boolean> {
  const withdrawn = released.flatMap(({ one, approval }) =>
    approval?.askId == null ? [] : [{ toolCallId: one.call.toolCallId, ask: approval.askId }],
  )
  await turn.settled()
  const refusal = await journal.propose(
    withdrawn.map((parts) => journal.entry('askWithdrawn', parts)),
    {
      withdraws: withdrawn.map(({ ask }) => ask),
      position: { signalsOpen: Math.max(0, journal.position.signalsOpen - withdrawn.length) },
    },
  )
  return refusal === null
}

function failRun({ journal, end, who }: AgentTurn, { toolName, toolCallId }: ToolCallBlock): ApprovalsEnd {
  journal.machine.apply('toolRefused')
  const error = new TerminalError(
    `call ${toolCallId} of tool "${toolName}" of ${who} needs the approval of a person, and nobody gave it. It was not run. Create sessions with whenNobodyAnswers: 'wait', allow the tool by a rule of the kind, or set the session's approval to 'auto'.`,
    { code: 'approval_needed' },
  )
  end.fail(error, 'runtime', 1)
  return done
}

function toApproval({ journal: { machine } }: AgentTurn): void {
  if (machine.state !== 'AwaitingToolApproval') machine.apply('approvalNeeded')
}
