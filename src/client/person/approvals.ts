/**
 * Duty: the approvals of tool calls as programs see them: those asks of the inbox that wait for a decision, and the decision.
 * Does not own: the ask, its answer, and trust in its tool (asks.ts), what the answer means for the call (core/worker/ask/approval-ask.ts).
 */
import { checkOptions, keyRule, oneOfRule, type Rules } from '../../core/check/check-options.ts'
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { type ApprovalDecision, readApprovalDetails, readDecision } from '../../core/worker/ask/approval-ask.ts'
import type { AskState } from '../../core/worker/ask/ask.ts'
import { type AsksQuery, asksRules } from '../queries.ts'
import type { Answered, AnswerOptions, Ask, Asks } from './asks.ts'

/** A tool call that waits for a person, or waited. */
export interface Approval {
  readonly id: string
  readonly sessionId: string
  readonly workerId: string
  readonly workerName: string | null
  readonly workerKind: string | null
  readonly run: number
  readonly state: AskState
  /** Empty if another program wrote over the ask. */
  readonly tool: string
  readonly toolCallId: string
  /** The arguments as the model wrote them. */
  readonly arguments: unknown
  /** The hash of the call with these arguments. Whoever shows it can compare it before they decide. */
  readonly hash: string
  /** Why a person is asked. */
  readonly why: string
  /** Why the same call is asked about again; null if it is the first time. */
  readonly again: string | null
  /** True: trust in the tool would change nothing. */
  readonly eachTime: boolean
  /** JSON Schema of the answer, which has that of the arguments in its `properties`. */
  readonly schema: Ask['schema']
  /** In ms since 1970, as all times here. */
  readonly askedAt: number
  readonly expiresAt: number | null
  readonly endedAt: number | null
  /** Null until somebody has decided. */
  readonly decided: (ApprovalDecision & { readonly by: string | null; readonly reason: string | null }) | null
}

export type ApprovalsQuery = Omit<AsksQuery, 'kind'>

export interface Decide extends AnswerOptions {
  /** Whether the call runs. */
  readonly decision: 'approve' | 'deny'
  /** With approve: the call runs with these arguments, in place of those that the model wrote. They must fit the schema of the tool. */
  readonly arguments?: unknown
  /** With approve: `tool`: nobody is asked about this tool any more in this session. Default: once. */
  readonly trust?: 'once' | 'tool' | undefined
}

export interface Decided extends Answered {
  readonly decision: 'approve' | 'deny'
  /** Other approvals of this tool that were approved with it, because the tool is trusted now. A worker may have withdrawn some of them itself. */
  readonly alsoApproved: readonly string[]
}

const { kind: _, ...queryRules } = asksRules

const decideRules: Rules<Decide> = {
  decision: { ...oneOfRule(['approve', 'deny']), isRequired: true },
  arguments: { expects: 'anything', fits: () => true },
  trust: oneOfRule(['once', 'tool']),
  by: { expects: 'a text', fits: (value) => typeof value === 'string' },
  reason: {
    expects: `a text of at most ${policy.reasonBytesMax} bytes`,
    fits: (value) => typeof value === 'string' && Buffer.byteLength(value) <= policy.reasonBytesMax,
  },
  idempotencyKey: keyRule,
}

export class Approvals {
  readonly #asks: Asks

  constructor(asks: Asks) {
    this.#asks = asks
  }

  /** Approvals of all sessions, or of one. The oldest come first: they have waited longest. */
  async list(query: ApprovalsQuery = {}): Promise<Approval[]> {
    checkOptions('approvals.list', query, queryRules, InputError)
    return (await this.#asks.list({ ...query, kind: 'approval' })).map(toApproval)
  }

  /** One approval, in any state. Throws `ask_not_found`, and `input_invalid` for an ask of another kind. */
  async get(id: string): Promise<Approval> {
    const ask = await this.#asks.get(id)
    if (ask.kind !== 'approval')
      throw new InputError(
        `ask ${ask.id} is a ${ask.kind} and no approval: answer it with \`troupe ask answer ${ask.id} <answer>\`, or asks.answer.`,
      )
    return toApproval(ask)
  }

  /**
   * Decides about a tool call, once; its worker goes on when all calls of its reply are decided. Throws `ask_not_found`, `ask_answered`,
   * `ask_expired` or `ask_withdrawn` if it cannot be decided any more, and `input_invalid` if the arguments do not fit the tool.
   */
  async decide(id: string, choice: Decide): Promise<Decided> {
    checkOptions('approvals.decide', choice, decideRules, InputError)
    const { decision, arguments: args, trust = 'once', ...options } = choice
    if (decision === 'deny' && (args !== undefined || trust === 'tool'))
      throw new InputError('approvals.decide takes arguments and trust only with decision: "approve".')
    const approval = await this.get(id)
    const trusts = trust === 'tool'
    if (trusts && approval.eachTime)
      throw new InputError(
        `tool "${approval.tool}" is asked about each time, whatever is trusted (${approval.why}): approve ${approval.id} without trust.`,
      )
    const value = { decision, ...(args !== undefined && { arguments: args }), ...(trusts && { trust: 'tool' }) }
    return { ...(await this.#asks.answerAndTrust(id, value, options)), decision }
  }
}

function toApproval(ask: Ask): Approval {
  const { kind: _kind, question: _question, options: _options, details, answer, ...row } = ask
  const shown = readApprovalDetails(details)
  const decision = answer === null ? null : readDecision(answer.value)
  const { hash: _hash, ...known } = decision ?? {}
  return {
    ...row,
    tool: shown?.tool ?? '',
    toolCallId: shown?.toolCallId ?? '',
    arguments: shown?.arguments ?? null,
    hash: shown?.hash ?? '',
    why: shown?.why ?? '',
    again: shown?.again ?? null,
    eachTime: shown?.eachTime === true,
    decided:
      decision === null || answer === null
        ? null
        : { ...(known as ApprovalDecision), by: answer.by, reason: answer.reason },
  }
}
