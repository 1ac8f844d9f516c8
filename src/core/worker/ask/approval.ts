/**
 * Duty: decide whether a tool call runs, is asked about, or is denied: by its tool, the rules of its kind and the policy of its session.
 * Does not own: how a person is asked (approval-ask.ts), the form of rules (definition/agent/approval-rules.ts).
 * APPROVAL-1 The first that applies decides: a deny rule; policy readOnly with a tool that is not pure; a dangerous tool; policy auto, a trusted
 *            tool, or an allow rule; an ask rule; what the tool says; its effect class, of which `once` asks.
 * APPROVAL-2 A function of an author that throws, or returns neither true nor false, is logged with its place, and its call does not run without
 *            a question: a person is asked, unless another rule of the same list applies. Nothing here throws.
 * APPROVAL-3 These functions get a read-only copy of the arguments. The call runs with exactly the arguments that they decided about.
 */
import { ignoreRejection } from '../../check/ignore-rejection.ts'
import { preview } from '../../check/preview.ts'
import { codePlaceOf, thrownFields } from '../../code-place.ts'
import { type ApprovalRules, type RuleList, ruleGlob } from '../../definition/agent/approval-rules.ts'
import type { ApprovalContext, Tool } from '../../definition/tool/define-tool.ts'
import { isAboutTool } from '../../definition/tool/tool-glob.ts'
import { readOnly } from '../../read-only.ts'
import type { ApprovalPolicy } from './session-approval.ts'

/** `why`: for people and models, a part of a sentence. `eachTime`: trust in the tool changes nothing. */
export type ApprovalVerdict =
  | { readonly do: 'run' }
  | { readonly do: 'ask'; readonly why: string; readonly eachTime: boolean }
  | { readonly do: 'deny'; readonly why: string }

/** The properties of a tool that matter here. Tools of troupe have the effect `pure`. */
export type JudgedTool = Pick<Tool, 'name' | 'effect' | 'approval' | 'dangerous'>

export interface JudgedCall {
  readonly tool: JudgedTool
  /** The arguments, as `run` would get them. */
  readonly input: unknown
  readonly context: ApprovalContext
  /** The rules of the kind. */
  readonly rules?: ApprovalRules | undefined
  readonly policy: ApprovalPolicy
  /** Names of the tools that somebody trusts in this session. */
  readonly trusted: readonly string[]
}

const run: ApprovalVerdict = { do: 'run' }
const ask = (why: string, eachTime = false): ApprovalVerdict => ({ do: 'ask', why, eachTime })
const deny = (why: string): ApprovalVerdict => ({ do: 'deny', why })

export function decideApproval(call: JudgedCall): ApprovalVerdict {
  const { tool, policy, trusted } = call
  const read = copyOf(call.input)
  const denied = judge(call, 'deny', read)
  if (denied?.applies) return deny(denied.why)
  if (policy === 'readOnly' && tool.effect !== 'pure')
    return deny(`the session is readOnly, and the tool is of effect "${tool.effect}"`)
  if (denied) return ask(denied.why, true)
  if (isDangerous(tool)) return ask('the tool is dangerous', true)
  if (policy === 'auto' || trusted.includes(tool.name)) return run
  const allowed = judge(call, 'allow', read)
  if (allowed) return allowed.applies ? run : ask(allowed.why)
  const asked = judge(call, 'ask', read)
  if (asked) return ask(asked.why)
  return bySelf(call, read)
}

const dangerousNames = /delete|write|execute|modify/i

/** True if its author says so; otherwise true for a tool that changes something and says so by its name, unless its author wants it never asked about. */
export function isDangerous({ name, effect, approval, dangerous }: JudgedTool): boolean {
  return dangerous ?? (effect !== 'pure' && approval !== 'never' && dangerousNames.test(name))
}

/** What the tool itself says. */
function bySelf({ tool, context }: JudgedCall, read: () => unknown): ApprovalVerdict {
  const { approval = tool.effect === 'once' ? 'always' : 'never' } = tool
  if (approval === 'never') return run
  if (approval === 'always')
    return ask(tool.approval === undefined ? 'the tool is of effect "once"' : 'the tool says approval: "always"')
  const what = `approval of tool "${tool.name}"`
  const said = askAuthor(
    what,
    () => (approval as (input: unknown, context: ApprovalContext) => unknown)(read(), context),
    context,
  )
  if (said === null) return ask(undecided(what))
  return said ? ask('the approval function of the tool says so') : run
}

/** What the rules of a list say. Null: none of the rules is about this call. */
function judge(
  { tool, rules, context }: JudgedCall,
  list: RuleList,
  read: () => unknown,
): { readonly applies: boolean; readonly why: string } | null {
  let open: string | null = null
  for (const [index, rule] of (rules?.[list] ?? []).entries()) {
    if (!isAboutTool(ruleGlob(rule), tool.name)) continue
    const what = `approval.${list}[${index}]`
    const applies = typeof rule === 'string' || askAuthor(`${what}.when`, () => rule.when(read()), context)
    if (applies) return { applies, why: `rule ${what} ${preview(ruleGlob(rule))} of the kind` }
    if (applies === null) open ??= undecided(`${what}.when`)
  }
  return open === null ? null : { applies: false, why: open }
}

const undecided = (what: string) => `${what} could not decide`

/** Null if the function gives no answer. */
function askAuthor(what: string, decide: () => unknown, { log, toolCallId }: ApprovalContext): boolean | null {
  try {
    const said = decide()
    if (typeof said === 'boolean') return said
    ignoreRejection(said)
    const got = said instanceof Promise ? 'a promise' : preview(said)
    log.warn(`${what} returned ${got} for call ${toolCallId}, not true or false: a person is asked`, { toolCallId })
  } catch (thrown) {
    const place = codePlaceOf(thrown)
    log.warn(`${what} threw for call ${toolCallId}${place === undefined ? '' : ` at ${place}`}: a person is asked`, {
      toolCallId,
      error: String(thrown),
      ...thrownFields(thrown),
    })
  }
  return null
}

/** Made once, when it is first needed. Values that cannot be copied are passed as they are. */
function copyOf(input: unknown): () => unknown {
  let copy: { readonly value: unknown } | undefined
  return () => {
    copy ??= { value: readOnly(clone(input)) }
    return copy.value
  }
}

function clone(input: unknown): unknown {
  try {
    return structuredClone(input)
  } catch {
    return input
  }
}
