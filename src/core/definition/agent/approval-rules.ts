/**
 * Duty: define what an author writes about approvals: for a tool, and as rules of a kind. core/worker/ask/approval.ts decides by them.
 */
import { checkOptions, oneOfRule, type Rule, type Rules } from '../../check/check-options.ts'
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import { isToolGlob, toolGlobRule } from '../tool/tool-glob.ts'

/**
 * The calls that a rule is about. A text is a glob over names of tools: `delete_*`, `{read,list}_*`. With `when`, the rule is only about calls for
 * whose arguments `when` returns true. `when` must be quick and return true or false; if it throws, a person is asked.
 */
export type ApprovalRule =
  | string
  | {
      readonly tool: string
      // Authors know what the tool's schema accepts.
      // biome-ignore lint/suspicious/noExplicitAny: the type of the arguments depends on the tool
      readonly when: (input: any) => boolean
    }

/** Rules of a kind. The first of these that applies decides: deny, a dangerous tool, allow, ask. */
export interface ApprovalRules {
  /** These calls never run. The model is told so, and no person is asked. */
  readonly deny?: readonly ApprovalRule[]
  /** A person is asked about these calls. */
  readonly ask?: readonly ApprovalRule[]
  /** These calls run without a question, unless their tool is dangerous. */
  readonly allow?: readonly ApprovalRule[]
  /** When a person denies a call: `none` of the calls of the same reply runs (default), or the `others` run. */
  readonly onDeny?: 'none' | 'others'
}

/** The lists of rules. */
export const ruleLists = ['deny', 'ask', 'allow'] as const
export type RuleList = (typeof ruleLists)[number]

const ruleList: Rule = { expects: 'a list of rules, like ["delete_*"]', fits: Array.isArray }
const rulesOfRules: Rules<ApprovalRules> = {
  deny: ruleList,
  ask: ruleList,
  allow: ruleList,
  onDeny: oneOfRule(['none', 'others']),
}

export const ruleGlob = (rule: ApprovalRule) => (typeof rule === 'string' ? rule : rule.tool)

/**
 * Throws a ConfigError that names the wrong rule. `tools`: the names of all tools that the kind has, or null if they are not known yet. A name that is none of them is refused,
 * because its rule would protect nothing. A glob may match no tool, so that kinds can share rules.
 */
export function checkApprovalRules(rules: unknown, tools: readonly string[] | null): void {
  if (rules === undefined) return
  checkOptions('approval of an agent', rules, rulesOfRules, ConfigError)
  for (const list of ruleLists) {
    for (const [index, rule] of ((rules as ApprovalRules)[list] ?? []).entries())
      checkRule(`approval.${list}[${index}]`, rule, tools)
  }
}

function checkRule(where: string, rule: unknown, tools: readonly string[] | null): void {
  const glob = isObject(rule) ? rule.tool : rule
  if (typeof glob !== 'string')
    throw new ConfigError(
      `${where} must be a glob over names of tools, like "delete_*", or { tool, when: (input) => boolean }, not ${preview(rule)}.`,
    )
  if (!isToolGlob(glob))
    throw new ConfigError(`${where} has ${preview(glob)}, which is no glob over names of tools: use ${toolGlobRule}.`)
  if (isObject(rule)) {
    const unknown = Object.keys(rule).find((name) => name !== 'tool' && name !== 'when')
    if (unknown !== undefined)
      throw new ConfigError(
        `${where} may hold tool and when, not ${preview(unknown)}.${didYouMean(unknown, ['tool', 'when'])}`,
      )
    if (typeof rule.when !== 'function')
      throw new ConfigError(
        `${where}.when must be a function of the arguments that returns true or false, not ${preview(rule.when)}.`,
      )
  }
  const isName = /^[A-Za-z0-9_-]+$/.test(glob)
  if (isName && tools !== null && !tools.includes(glob))
    throw new ConfigError(
      `${where} names the tool ${preview(glob)}, which this kind does not have; it has ${tools.join(', ')}.${didYouMean(glob, tools)}`,
    )
}
