/**
 * Duty: the tools that troupe gives to agents and that run like tools of the kind: which of them a kind has, and from when on.
 * OWN-TOOLS-1 They read only, nobody is asked about them, and permissions need not name them.
 */

import type { AgentDefinition } from '../../../core/definition/define-worker.ts'
import type { Tool } from '../../../core/definition/tool/define-tool.ts'
import { policy } from '../../../core/policy.ts'
import type { Turn } from '../../turn/turn.ts'
import { type KindSkills, kindSkills, readSkillName } from '../context/kind-skills.ts'
import { readResult, readResultName, readResultTool } from './local/long-results.ts'

export function isOwnTool(name: string): boolean {
  return name === readResultName || name === readSkillName
}

/** When a result of a tool is too long, and how much of it the model sees. Null: long results are cut. */
export function longResultsOf({
  longResults = {},
}: Pick<AgentDefinition, 'longResults'>): { readonly over: number; readonly preview: number } | null {
  if (longResults === false) return null
  const { over = policy.toolOutputBytesMax, preview = policy.previewBytesMax } = longResults
  return { over, preview }
}

/** The tools that agents of this kind may call, whether their model was told of them or not. */
export function ownToolsOf(definition: AgentDefinition): readonly Tool[] {
  const skills = skillsOf(definition)
  return [...(skills === null ? [] : [skills.tool]), ...(definition.longResults === false ? [] : [readResultTool])]
}

const known = new WeakMap<AgentDefinition, KindSkills | null>()

/** The skills of the kind, which are read once. Throws a ConfigError that names a file which is no skill. */
export function skillsOf(definition: AgentDefinition): KindSkills | null {
  if (definition.skills === undefined) return null
  let skills = known.get(definition)
  if (skills === undefined) {
    skills = kindSkills(definition.skills)
    known.set(definition, skills)
  }
  return skills
}

/** True for a tool that the model is told of from the beginning. The others come with the first long result. */
export function isOfferedAtOnce({ longResults }: AgentDefinition, { name }: Tool): boolean {
  return name !== readResultName || longResults !== undefined
}

/** The tool as it runs in this turn. */
export function runnable(tool: Tool, { host }: Turn): Tool {
  return tool === readResultTool ? readResult(host.blobs) : tool
}
