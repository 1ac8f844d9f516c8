/**
 * Duty: the skills of a kind: read their files once, tell the model of them, and give it the text of one.
 * SKILLS-1 What the prompt says of skills stays the same for as long as the node runs, so the beginning of each prompt does, too.
 */
import { readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type ReadSkill, type Skill, skillProblem } from '../../../core/definition/agent/skills.ts'
import { ownTool, type Tool } from '../../../core/definition/tool/define-tool.ts'
import { ConfigError, InputError, toRuntimeError } from '../../../core/errors.ts'

export const readSkillName = 'read_skill'

export interface KindSkills {
  /** The text for the system prompt. */
  readonly prompt: string
  readonly tool: Tool
}

/** Null for a kind without skills. Throws a ConfigError that names a file which is no skill. */
export function kindSkills(skills: readonly Skill[] | undefined): KindSkills | null {
  if (skills === undefined || skills.length === 0) return null
  const read = new Map<string, ReadSkill>()
  for (const skill of skills.map(readSkill)) {
    if (read.has(skill.name)) throw new ConfigError(`two skills have the name "${skill.name}": rename one of them.`)
    read.set(skill.name, skill)
  }
  const lines = [...read.values()].map(({ name, description }) => `- ${name}: ${description}`)
  const prompt = `You have skills. Before you do what one of them is for, read it with ${readSkillName}:\n${lines.join('\n')}`
  return { prompt, tool: readSkillTool(read) }
}

function readSkillTool(read: ReadonlyMap<string, ReadSkill>): Tool {
  const names = [...read.keys()]
  return ownTool<{ name: string }>({
    name: readSkillName,
    description: 'Reads a skill: how to do what it is for.',
    effect: 'pure',
    approval: 'never',
    input: z.strictObject({ name: z.enum(names as [string, ...string[]]) }),
    run({ name }) {
      const skill = read.get(name)
      if (skill === undefined) throw new InputError(`there is no skill "${name}".`)
      return skill.text
    },
  })
}

function readSkill(skill: Skill): ReadSkill {
  if (!('file' in skill)) return skill
  const path = skill.file instanceof URL || skill.file.startsWith('file:') ? fileURLToPath(skill.file) : skill.file
  let whole: string
  try {
    whole = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(`the file of a skill cannot be read: ${toRuntimeError(cause).message}`, { cause })
  }
  const [front, lines = '', text = ''] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?([\s\S]*)$/.exec(whole) ?? []
  if (front === undefined)
    throw new ConfigError(`${path} is no skill: it must begin with ---, lines name: … and description: …, and ---.`)
  const field = (name: string) =>
    new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'm').exec(lines)?.[1]?.replace(/^(["'])(.*)\1$/, '$2')
  const read = {
    name: field('name') || basename(path, extname(path)),
    description: field('description') ?? '',
    text: text.trim(),
  }
  const problem = skillProblem(read)
  if (problem !== null) throw new ConfigError(`${path}: ${problem}`)
  return read
}
