/** Duty: ask a person at a terminal what no option says about a new project. */
import { isCancel, select, text } from '@clack/prompts'
import { isKind, kindRule } from '../../../core/ids.ts'
import type { ProjectFacts, Sort } from './project.ts'

/** Undefined: the person left. Questions go to stderr, because stdout is data. */
export async function askForWorker(
  sort: Sort | undefined,
  name: string | undefined,
  nameOf: (sort: Sort) => string,
): Promise<Pick<ProjectFacts, 'kind' | 'sort'> | undefined> {
  const output = process.stderr
  const chosen =
    sort ??
    (await select<Sort>({
      output,
      message: 'What is its worker?',
      options: [
        { value: 'agent', label: 'an agent: a model decides; it runs without a key, too' },
        { value: 'handler', label: 'a handler: a function of one message' },
      ],
    }))
  if (isCancel(chosen)) return undefined
  const kind =
    name ??
    (await text({
      output,
      message: 'What is its name?',
      placeholder: nameOf(chosen),
      defaultValue: nameOf(chosen),
      validate: (value) => (value && !isKind(value) ? kindRule : undefined),
    }))
  return isCancel(kind) ? undefined : { sort: chosen, kind }
}
