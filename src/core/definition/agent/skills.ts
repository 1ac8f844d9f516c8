/**
 * Duty: define the skills of an agent: texts that its model is told of by name and description, and reads when it needs them.
 * Does not own: reading files (runtime/agent/context/kind-skills.ts).
 */
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'

/** A text by name; or a file that begins with `---`, lines `name: …` and `description: …`, and `---`. Without a name it has that of the file. */
export type Skill =
  | { readonly name: string; readonly description: string; readonly text: string }
  | { readonly file: string | URL }

const nameForm = /^[A-Za-z0-9_-]{1,64}$/
const descriptionMost = 1_000
const textMost = 100_000
const skillsMost = 200

export interface ReadSkill {
  readonly name: string
  readonly description: string
  readonly text: string
}

/** Why it is no skill; null if it is one. */
export function skillProblem({ name, description, text }: ReadSkill): string | null {
  if (!nameForm.test(name)) return `${preview(name)} is no name of a skill: use 1 to 64 letters, digits, "_" or "-".`
  const isLine = description.trim() !== '' && !/[\r\n]/.test(description) && description.length <= descriptionMost
  if (!isLine) return `skill "${name}" needs a description of one line, with at most ${descriptionMost} characters.`
  if (text.trim() === '') return `skill "${name}" has no text.`
  return Buffer.byteLength(text) > textMost ? `skill "${name}" has more than ${textMost} bytes.` : null
}

/** Throws a ConfigError that names the skill which is wrong. Files are checked when a node opens the kind. */
export function checkSkills(skills: unknown): void {
  if (skills === undefined) return
  if (!Array.isArray(skills) || skills.length > skillsMost)
    throw new ConfigError(`skills must be a list of at most ${skillsMost} skills, not ${preview(skills)}.`)
  const names = new Set<string>()
  for (const skill of skills as readonly unknown[]) {
    if (isObject(skill) && (typeof skill.file === 'string' || skill.file instanceof URL)) continue
    const { name, description, text } = isObject(skill) ? skill : {}
    if (typeof name !== 'string' || typeof description !== 'string' || typeof text !== 'string')
      throw new ConfigError(`skills holds ${preview(skill)}: give { name, description, text }, or { file }.`)
    const problem = skillProblem({ name, description, text })
    if (problem !== null) throw new ConfigError(problem)
    if (names.has(name)) throw new ConfigError(`two skills have the name "${name}": rename one of them.`)
    names.add(name)
  }
}
