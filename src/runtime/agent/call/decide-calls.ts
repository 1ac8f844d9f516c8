/**
 * Duty: let code of the kind decide about the open calls of a reply before they run: which tools they mean (its resolver), and whether and with which
 * arguments they run (its hook `toolBefore`).
 * Owns: the decisions, which are recorded. Does not own: what a call may do (agent-tools.ts, approvals.ts), which follows from the decision.
 * DECIDE-CALLS-1 A call is decided about once. The decision is recorded before anything that follows from it: before a tool runs that is not pure,
 *                and with the asks of an approval. A pure tool may run before, and runs again after a crash.
 * DECIDE-CALLS-2 A call that was started, asked about or delegated before there was a decision is carried out as its model wrote it.
 * DECIDE-CALLS-3 If the code fails, the call does not run.
 */
import { isObject } from '../../../core/check/is-object.ts'
import { preview } from '../../../core/check/preview.ts'
import { isResolver, type ToolResolver } from '../../../core/definition/agent/tool-resolver.ts'
import type { Tool } from '../../../core/definition/tool/define-tool.ts'
import { isTool } from '../../../core/definition/tool/define-tool.ts'
import { toRuntimeError } from '../../../core/errors.ts'
import type { Json, ToolCallBlock } from '../../../core/history/chat/chat-message.ts'
import { asDecided, type CallDecision } from '../../../core/history/run/call-decision.ts'
import { toJson } from '../../../core/json.ts'
import { readOnly } from '../../../core/read-only.ts'
import { readArguments } from '../../tool/arguments.ts'
import { refusedText, uncheckedText, unknownToolText, unresolvedText } from '../../tool/messages.ts'
import type { AgentTurn } from '../agent-turn.ts'
import { runHook } from '../hook/run-hook.ts'
import type { AgentTools } from './agent-tools.ts'

/** What the resolver says of a call: its tool, or why it is refused. */
type Found = { readonly tool: Tool } | { readonly refused: string }

/** True if code of the kind decides about calls. Then nothing is known of a reply before the code is asked. */
export function decidesCalls({ kind }: Pick<AgentTurn, 'kind'>): boolean {
  const { tools, hooks } = kind.definition
  return isResolver(tools) || hooks?.toolBefore !== undefined
}

/** Returns the tools of the kind, with those to which the open calls resolve. The decisions are part of the container. */
export async function decideCalls(agentTurn: AgentTurn, tools: AgentTools): Promise<AgentTools> {
  const { journal, kind } = agentTurn
  const { calls, decided } = journal.container.pending
  const resolver = kind.definition.tools
  // Code of the kind may do something outside, or take long: the reply that leads to it is recorded before (AGENT-2).
  await agentTurn.turn.settled()
  if (agentTurn.isOver) return tools
  const found = isResolver(resolver) ? await resolveAll(agentTurn, tools, resolver, calls) : new Map<string, Found>()
  if (agentTurn.isOver) return tools
  const open = calls.filter((call) => isUndecided(agentTurn, call))
  const known = open.map((call) => [call, decisionOf(call, found.get(call.toolCallId))] as const)
  const all = withFound(tools, calls, decided, found)
  const decisions = await Promise.all(known.map(([call, decision]) => checkCall(agentTurn, all, call, decision)))
  if (agentTurn.isOver) return tools
  if (decisions.length > 0) journal.add([journal.entry('callsDecided', { calls: decisions })])
  return all
}

/** The tools, with those that the resolver found. A call that was decided about keeps the tool that was recorded. */
function withFound(
  tools: AgentTools,
  calls: readonly ToolCallBlock[],
  decided: ReadonlyMap<string, CallDecision>,
  found: ReadonlyMap<string, Found>,
): AgentTools {
  if (found.size === 0) return tools
  const resolved = calls.flatMap(({ toolCallId, toolName }) => {
    const one = found.get(toolCallId)
    const decision = decided.get(toolCallId)
    if (one === undefined || 'refused' in one) return []
    const isRecorded = decision === undefined || one.tool.name === (decision.tool ?? toolName)
    return isRecorded ? [[toolCallId, one.tool] as const] : []
  })
  return tools.resolving(new Map(resolved))
}

function isUndecided({ journal }: AgentTurn, { toolCallId }: ToolCallBlock): boolean {
  const { decided, started, delegated, asked, approvals } = journal.container.pending
  const known = [decided, started, delegated, asked].some((calls) => calls.has(toolCallId))
  return !known && approvals.get(toolCallId) === undefined
}

function decisionOf({ toolCallId, toolName }: ToolCallBlock, found: Found | undefined): CallDecision {
  if (found === undefined) return { toolCallId }
  if ('refused' in found) return { toolCallId, refused: found.refused }
  return { toolCallId, ...(found.tool.name !== toolName && { tool: found.tool.name }) }
}

/** The tools that were found, by the ids of the calls. Tools that troupe gives to agents are not resolved. */
async function resolveAll(
  agentTurn: AgentTurn,
  tools: AgentTools,
  resolver: ToolResolver,
  calls: readonly ToolCallBlock[],
): Promise<Map<string, Found>> {
  const own = calls.filter(({ toolName }) => !tools.isBuiltIn(toolName))
  const found = await Promise.all(
    own.map(async (call) => [call.toolCallId, await resolve(agentTurn, tools, resolver, call)] as const),
  )
  return new Map(found)
}

/** The tool, with the recipe that the resolver has for it. */
function withRecipe(tool: Tool, resolver: ToolResolver): Tool {
  const recipe = resolver.dispatchRecipe?.(tool.name)
  return typeof recipe === 'function' ? Object.freeze({ ...tool, recipe }) : tool
}

async function resolve(
  agentTurn: AgentTurn,
  tools: AgentTools,
  resolver: ToolResolver,
  { toolCallId, toolName, input }: ToolCallBlock,
): Promise<Found> {
  const written = readOnly({ toolCallId, toolName, input: structuredClone(input) })
  const end = await runHook(agentTurn, 'resolve', `call ${toolCallId} of "${toolName}" is not run`, async (self) => {
    const resolution = await resolver.resolve(written, self)
    return isTool(resolution) ? withRecipe(resolution, resolver) : resolution
  })
  if (end.kind === 'over') return { refused: '' }
  if (end.kind === 'failed') return { refused: unresolvedText(toolName, end.error.message) }
  const { value } = end
  if (isTool(value)) return { tool: value }
  if (value === null || value === undefined)
    return { refused: unknownToolText(toolName, tools.names(agentTurn.turn.assignment)) }
  const { refuse } = value
  if (typeof refuse === 'string' && refuse.trim() !== '') return { refused: refusedText(toolName, refuse) }
  return { refused: unresolvedText(toolName, 'its resolver answered neither a tool nor { refuse }') }
}

/** Asks the hook about a call that may run as far as troupe knows. */
async function checkCall(
  agentTurn: AgentTurn,
  tools: AgentTools,
  call: ToolCallBlock,
  decision: CallDecision,
): Promise<CallDecision> {
  const { hooks } = agentTurn.kind.definition
  if (hooks?.toolBefore === undefined || decision.refused !== undefined) return decision
  const { toolCallId, toolName, ...given } = asDecided(call, decision)
  const checked = tools.check({ toolCallId, toolName, ...given }, agentTurn.turn.assignment)
  const read = readArguments(given)
  if (checked.kind === 'invalid' || !read.ok) return decision
  const written = readOnly({ toolCallId, toolName, input: structuredClone(read.value) as Json })
  const end = await runHook(agentTurn, 'hooks.toolBefore', `call ${toolCallId} of "${toolName}" is not run`, (self) =>
    hooks.toolBefore?.(written, self),
  )
  if (end.kind === 'over') return decision
  if (end.kind === 'failed') return { toolCallId, refused: uncheckedText(toolName, end.error.message) }
  return decisionBy(end.value, decision, toolName)
}

/** Combines what the hook says with what the resolver decided. */
function decisionBy(verdict: unknown, decision: CallDecision, toolName: string): CallDecision {
  const { toolCallId } = decision
  if (verdict === null || verdict === undefined) return decision
  const said: Record<string, unknown> = isObject(verdict) ? verdict : {}
  const { do: what, reason } = said
  if (what === 'continue') return decision
  if (what === 'refuse' && typeof reason === 'string') return { toolCallId, refused: refusedText(toolName, reason) }
  if (what !== 'change') return { toolCallId, refused: uncheckedText(toolName, `it answered ${preview(verdict)}`) }
  try {
    return { ...decision, arguments: JSON.parse(toJson(said.arguments, 'the arguments')) as Json }
  } catch (thrown) {
    return { toolCallId, refused: uncheckedText(toolName, toRuntimeError(thrown).message) }
  }
}
